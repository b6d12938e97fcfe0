import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { meanStep, stepsLength } from "../../report/measures";
import { avoidable, isHighlighted, lostIn, syncsPerStep, type SyncRow } from "../../report/syncs";
import type { Definition } from "../../text/definitions";
import { counted, duration } from "../../text/formats";
import { SYNC_FACT_DEFINITIONS as D } from "./definitions";
import { common, type SyncNode } from "./syncTree";

interface SyncFactsProps {
  report: ReportData;
  node: SyncNode;
}

/** What a sync, or several, took from host and device. */
export function SyncFacts({ report, node }: SyncFactsProps): ReactElement {
  const { sum, rows } = node;
  const single = rows.length === 1;
  const whole = single ? meanStep(report) : stepsLength(report);
  const look = avoidable(rows.map(({ sync }) => sync)).length > 0;
  const thread = common(node, ({ sync }) => sync.thread);
  return (
    <>
      <dl className="against">
        <Amount
          definition={D.blocked}
          us={sum.blocked}
          whole={sum.blocked}
          className={
            look && isHighlighted(lostIn(sum.blocked, sum.idle), whole) ? "blocked look" : "blocked"
          }
        />
        <Amount
          definition={D.idle}
          us={sum.idle}
          whole={sum.blocked}
          className={look && isHighlighted(sum.idle, whole) ? "idle look" : "idle"}
        />
      </dl>
      {!single && (
        <p className="muted" title={D.perStep.text}>
          {counted(rows.length, "sync")} in {counted(report.steps.length, "step")},{" "}
          {duration(
            syncsPerStep(
              report,
              rows.map(({ sync }) => sync),
            ).blocked,
          )}{" "}
          per step
          {thread.value === null && `, on ${thread.different} threads`}
        </p>
      )}
    </>
  );
}

interface AmountProps {
  definition: Definition;
  us: number | null;
  whole: number;
  className: string;
}

/** An amount with a bar, so that host and device can be held against each other. */
function Amount({ definition, us, whole, className }: AmountProps): ReactElement {
  const share = us === null || whole <= 0 ? 0 : Math.min(1, us / whole);
  return (
    <div className={className} title={definition.text}>
      <dt>{definition.title}</dt>
      <dd>
        {duration(us)}
        {share > 0 && (
          <span
            className="against-bar"
            aria-hidden="true"
            style={{ inlineSize: `${share * 100}%` }}
          />
        )}
      </dd>
    </div>
  );
}

/** The work that a sync was for. */
export function WaitedFor({ sync }: SyncRow): ReactElement {
  const { waited_for: work } = sync;
  if (work === null) return <p className="muted">No device events ended during the sync.</p>;
  return (
    <div title={D.waitedFor.text}>
      <p className="muted">
        {D.waitedFor.title} {duration(work.duration_us)} of work on device <bdi>{work.device}</bdi>,
        stream <bdi>{work.stream}</bdi>:
      </p>
      <Name kernel text={work.name} className="code wrap two" />
    </div>
  );
}
