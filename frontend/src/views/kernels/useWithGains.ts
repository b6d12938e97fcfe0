import type { Target } from "../../api/request";
import type { WireTablePage } from "../../api/types";
import { rowsOf, useRows } from "../../parts/serverTable/rows";
import type { Loaded } from "../../parts/services";
import type { Sort } from "../../text/numbers";
import type { KernelsPlace } from "./address";
import { GAIN, KERNEL_TABLES, quickColumns } from "./columns";

const MOST = 50;

/** Rows of sequences with their gains, once these are replayed; the others as they are. */
export function useWithGains(
  target: Target,
  { group }: KernelsPlace,
  loaded: Loaded<WireTablePage>,
  { key }: Sort,
): Loaded<WireTablePage> {
  const later = quickColumns(group, key).length > 0;
  const question = {
    table: KERNEL_TABLES[group],
    sort: [],
    filter: [`${GAIN}:ge:0`],
    offset: 0,
    limit: MOST,
    columns: ["id", GAIN],
  };
  const gains = useRows(target, later ? question : null);
  if (!later || loaded.value === null) return loaded;
  const known = new Map(rowsOf(gains.value).map((row) => [row.id, row[GAIN] ?? null]));
  const rows = rowsOf(loaded.value).map((row) => ({ ...row, [GAIN]: known.get(row.id) ?? null }));
  return { ...loaded, value: { ...loaded.value, rows } };
}
