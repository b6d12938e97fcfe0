import { useMemo, type ReactElement } from "react";

import type { RunOverview } from "../../api/schema";
import { numberOf } from "../../parts/serverTable/rows";
import { usePlace } from "../../parts/services";
import type { RunKey } from "../../parts/run";
import { RunTable } from "./RunTable";
import { PARTS, rankColumns } from "./columns";
import { useChangeRanks } from "./useRun";

interface RankListProps {
  runKey: RunKey;
  run: RunOverview;
}

/** The ranks with the means of their steps. */
export function RankList({ runKey, run }: RankListProps): ReactElement {
  const { stragglers } = run;
  const columns = useMemo(() => rankColumns(stragglers), [stragglers]);
  const [{ ranks: place }] = usePlace();
  const change = useChangeRanks();
  return (
    <>
      <ul className="rank-parts muted" aria-label="Parts of a step">
        {PARTS.map(({ id, title, colour }) => (
          <li key={id}>
            <span className="swatch" style={{ background: colour }} /> {title}
          </li>
        ))}
      </ul>
      <RunTable
        runKey={runKey}
        label="Ranks"
        table="ranks"
        columns={columns}
        first={{ key: "rank", descending: false }}
        filter={[]}
        isSelected={(row) => row.rank === place.rank}
        onSelect={(row) => change({ rank: row === null ? null : numberOf(row, "rank"), at: null })}
        empty="The run has no ranks."
      />
    </>
  );
}
