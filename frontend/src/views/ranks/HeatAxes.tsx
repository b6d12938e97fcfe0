import type { ReactElement } from "react";

import type { RunOverview } from "../../api/schema";
import { stepLabel } from "../../text/names";
import { ticks } from "./heat";

const LABEL_PX = 14;

/** Names of the steps, as many as there is room for. */
export function StepLabels({
  steps,
  rowPx,
}: {
  steps: readonly string[];
  rowPx: number;
}): ReactElement {
  const every = Math.ceil(LABEL_PX / rowPx);
  return (
    <ol className="rank-heat-steps" aria-hidden="true">
      {steps.map((name, at) => (
        <li key={name} style={{ height: rowPx }}>
          {at % every === 0 && <bdi>{stepLabel(name).slice(0, 12)}</bdi>}
        </li>
      ))}
    </ol>
  );
}

/** Where the stragglers are. */
export function LateMarks({ run }: { run: RunOverview }): ReactElement {
  const all = run.ranks.length;
  return (
    <div className="rank-heat-late" aria-hidden="true">
      {run.stragglers.map(({ id, rank }) => (
        <span key={id} style={{ left: `${((run.ranks.indexOf(rank) + 0.5) / all) * 100}%` }}>
          ▼
        </span>
      ))}
    </div>
  );
}

/** The columns of the stragglers, framed: a straggler waits least, so its cells are the palest. */
export function LateColumns({ run }: { run: RunOverview }): ReactElement {
  const all = run.ranks.length;
  return (
    <>
      {run.stragglers.map(({ id, rank }) => (
        <span
          key={id}
          className="rank-heat-outline late"
          style={{
            height: "100%",
            left: `${(run.ranks.indexOf(rank) / all) * 100}%`,
            top: 0,
            width: `${100 / all}%`,
          }}
        />
      ))}
    </>
  );
}

/** Numbers of the ranks, at most some of them. */
export function RankTicks({ run, most }: { run: RunOverview; most: number }): ReactElement {
  const all = run.ranks.length;
  const late = new Set(run.stragglers.map(({ rank }) => rank));
  return (
    <div className="rank-heat-ranks" aria-hidden="true">
      {ticks(all, most).map((at) => (
        <span
          key={at}
          className={late.has(run.ranks[at] ?? -1) ? "late" : ""}
          style={{ left: `max(${((at + 0.5) / all) * 100}%, 5px)` }}
        >
          {run.ranks[at]}
        </span>
      ))}
    </div>
  );
}
