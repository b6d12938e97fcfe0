import type { Target } from "../../api/request";
import { rowsOf, type TableRow, useRows } from "../../parts/serverTable/rows";
import type { KernelGroup } from "./address";
import { GAIN, KERNEL_TABLES } from "./columns";

const MOST = 50;

/** What adds the gain to a row of a sequence, once it is replayed. */
export function useGains(
  target: Target,
  group: KernelGroup,
  later: boolean,
): (row: TableRow) => TableRow {
  const question = {
    table: KERNEL_TABLES[group],
    filter: [`${GAIN}:ge:0`],
    limit: MOST,
    columns: ["id", GAIN],
  };
  const { value } = useRows(target, later ? question : null);
  if (!later) return (row) => row;
  const known = new Map(rowsOf(value).map((row) => [row.id, row[GAIN] ?? null]));
  return (row) => ({ ...row, [GAIN]: known.get(row.id) ?? null });
}
