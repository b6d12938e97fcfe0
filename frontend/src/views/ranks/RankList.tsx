import type { ReactElement } from "react";

import { numberOf, PAGE_ROWS, rowsOf } from "../../parts/serverTable/rows";
import { ServerTable } from "../../parts/serverTable/ServerTable";
import { usePlace } from "../../parts/services";
import type { Sort } from "../../text/numbers";
import { RANK_COLUMNS } from "./columns";
import { useChangeRanks, useRunRows, type RunKey } from "./useRun";

const FIRST_RANK: Sort = { key: "rank", descending: false };

/** The ranks with the means of their steps. */
export function RankList({ runKey }: { runKey: RunKey }): ReactElement {
  const [{ ranks: place, sort: chosen }, go] = usePlace();
  const change = useChangeRanks();
  const sort = chosen ?? FIRST_RANK;
  const loaded = useRunRows(runKey, {
    table: "ranks",
    sort: [`${sort.descending ? "-" : ""}${sort.key}`],
    filter: [],
    offset: place.page * PAGE_ROWS,
    limit: PAGE_ROWS,
  });
  const rows = rowsOf(loaded.value);
  const selected = rows.find((row) => row.rank === place.rank);
  return (
    <ServerTable
      label="Ranks"
      columns={RANK_COLUMNS}
      loaded={loaded}
      sort={sort}
      onSort={(next) => {
        go({ sort: next, ranks: { ...place, page: 0 } }, true);
      }}
      page={place.page}
      onPage={(page) => {
        change({ page });
      }}
      selected={selected === undefined ? null : Number(selected.id)}
      onSelect={(id) => {
        const row = rows.find((one) => one.id === id);
        change({ rank: row === undefined ? null : numberOf(row, "rank"), at: null });
      }}
      search=""
      empty="The run has no ranks."
    />
  );
}
