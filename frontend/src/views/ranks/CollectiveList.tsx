import type { ReactElement } from "react";

import type { RunOverview } from "../../api/schema";
import { FilterSelect } from "../../components/controls";
import { usePlace } from "../../parts/services";
import type { RunKey } from "../../parts/run";
import { Bandwidth } from "./Bandwidth";
import { binsOf, kindText, sizesOf } from "./collectives";
import { COLLECTIVE_COLUMNS } from "./columns";
import { Histogram } from "./Histogram";
import { RunTable } from "./RunTable";
import { useChangeRanks } from "./useRun";

interface CollectiveListProps {
  runKey: RunKey;
  run: RunOverview;
}

/** Collectives: how long they take, how fast they are, and each of them. */
export function CollectiveList({ runKey, run }: CollectiveListProps): ReactElement {
  const [{ ranks: place }] = usePlace();
  const change = useChangeRanks();
  return (
    <>
      <div className="toolbar">
        <FilterSelect
          label="kind"
          value={place.kind}
          options={run.kinds.map(({ name, count }) => [name, count])}
          text={kindText}
          onChange={(kind) => change({ kind, page: 0, collective: null })}
        />
      </div>
      <div className="collective-charts">
        <Histogram bins={binsOf(run.kinds, run.edges_us, place.kind)} />
        <Bandwidth sizes={sizesOf(run.sizes, place.kind)} leftOut={run.sizes_left_out} />
      </div>
      <RunTable
        runKey={runKey}
        label="Collectives"
        table="collectives"
        columns={COLLECTIVE_COLUMNS}
        first={{ key: "wait_us", descending: true }}
        filter={place.kind === null ? [] : [`name:eq:${place.kind}`]}
        isSelected={(row) => row.id === place.collective}
        onSelect={(row) => change({ collective: row === null ? null : Number(row.id), others: 0 })}
        empty="No collectives of several ranks were matched."
      />
    </>
  );
}
