import type { ReactElement } from "react";

import { PAGE_ROWS, rowsOf, type TableRow } from "../../parts/serverTable/rows";
import { ServerTable, type ServerColumn } from "../../parts/serverTable/ServerTable";
import { usePlace } from "../../parts/services";
import type { Sort } from "../../text/numbers";
import type { RunKey } from "../../parts/run";
import { useChangeRanks, useRunRows } from "./useRun";

interface RunTableProps {
  runKey: RunKey;
  label: string;
  table: "ranks" | "collectives";
  columns: readonly ServerColumn[];
  /** The order until the reader chooses another. */
  first: Sort;
  filter: readonly string[];
  isSelected: (row: TableRow) => boolean;
  onSelect: (row: TableRow | null) => void;
  empty: string;
}

/** A page of a table of the run; its order and its page are in the address. */
export function RunTable(props: RunTableProps): ReactElement {
  const { runKey, label, table, columns, filter, isSelected, onSelect, empty } = props;
  const [{ ranks: place, sort: chosen }, go] = usePlace();
  const change = useChangeRanks();
  const sort = chosen ?? props.first;
  const loaded = useRunRows(runKey, {
    table,
    sort: [`${sort.descending ? "-" : ""}${sort.key}`],
    filter,
    offset: place.page * PAGE_ROWS,
    limit: PAGE_ROWS,
  });
  const rows = rowsOf(loaded.value);
  const selected = rows.find(isSelected);
  return (
    <ServerTable
      label={label}
      columns={columns}
      loaded={loaded}
      sort={sort}
      onSort={(next) => go({ sort: next, ranks: { ...place, page: 0 } }, true)}
      page={place.page}
      onPage={(page) => change({ page })}
      selected={selected === undefined ? null : Number(selected.id)}
      onSelect={(id) => onSelect(rows.find((row) => row.id === id) ?? null)}
      search=""
      empty={empty}
    />
  );
}
