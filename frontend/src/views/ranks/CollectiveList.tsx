import type { ReactElement } from "react";

import type { WireRunOverview } from "../../api/types";
import { FilterSelect } from "../../components/controls";
import { PAGE_ROWS } from "../../parts/serverTable/rows";
import { ServerTable } from "../../parts/serverTable/ServerTable";
import { usePlace } from "../../parts/services";
import type { Sort } from "../../text/numbers";
import { Bandwidth } from "./Bandwidth";
import { binsOf, kindText, sizesOf } from "./collectives";
import { COLLECTIVE_COLUMNS } from "./columns";
import { Histogram } from "./Histogram";
import { useChangeRanks, useRunRows, type RunKey } from "./useRun";

const LONGEST_WAIT: Sort = { key: "wait_us", descending: true };

interface CollectiveListProps {
  runKey: RunKey;
  run: WireRunOverview;
}

/** Collectives: how long they take, how fast they are, and each of them. */
export function CollectiveList({ runKey, run }: CollectiveListProps): ReactElement {
  const [{ ranks: place, sort: chosen }, go] = usePlace();
  const change = useChangeRanks();
  const sort = chosen ?? LONGEST_WAIT;
  const loaded = useRunRows(runKey, {
    table: "collectives",
    sort: [`${sort.descending ? "-" : ""}${sort.key}`],
    filter: place.kind === null ? [] : [`name:eq:${place.kind}`],
    offset: place.page * PAGE_ROWS,
    limit: PAGE_ROWS,
  });
  return (
    <>
      <div className="toolbar">
        <FilterSelect
          label="kind"
          value={place.kind}
          options={run.kinds.map(({ name, count }) => [name, count])}
          text={kindText}
          onChange={(kind) => {
            change({ kind, page: 0, collective: null });
          }}
        />
      </div>
      <div className="collective-charts">
        <Histogram bins={binsOf(run.kinds, run.edges_us, place.kind)} />
        <Bandwidth sizes={sizesOf(run.sizes, place.kind)} leftOut={run.sizes_left_out} />
      </div>
      <ServerTable
        label="Collectives"
        columns={COLLECTIVE_COLUMNS}
        loaded={loaded}
        sort={sort}
        onSort={(next) => {
          go({ sort: next, ranks: { ...place, page: 0 } }, true);
        }}
        page={place.page}
        onPage={(page) => {
          change({ page });
        }}
        selected={place.collective}
        onSelect={(collective) => {
          change({ collective });
        }}
        search=""
        empty="No collectives of several ranks were matched."
      />
    </>
  );
}
