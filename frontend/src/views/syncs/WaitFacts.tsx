import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { avoidable, deservesLook } from "../../model/attention";
import type { Definition } from "../../model/definitions";
import { WAIT_DEFINITIONS as D } from "../../model/definitionsSyncs";
import { counted, duration, NOTHING } from "../../model/formats";
import { stepsLength } from "../../model/measures";
import { common, longestOf, type SyncNode } from "../../model/syncTree";
import { Name } from "../Name";

interface WaitFactsProps {
  report: WireReport;
  node: SyncNode;
}

/** What a wait, or several, took from host and device, and what it was for. */
export function WaitFacts({ report, node }: WaitFactsProps): ReactElement {
  const { sum, rows } = node;
  const steps = Math.max(1, report.steps.length);
  const single = rows.length === 1;
  const whole = stepsLength(report) / (single ? steps : 1);
  const look = avoidable(rows.map(({ sync }) => sync)).length > 0;
  const thread = common(node, ({ sync }) => sync.thread);
  return (
    <>
      <dl className="against">
        <Amount
          definition={D.blocked}
          us={sum.blocked}
          whole={sum.blocked}
          className={look && deservesLook(sum.blocked, whole) ? "blocked look" : "blocked"}
        />
        <Amount
          definition={D.idle}
          us={sum.idle}
          whole={sum.blocked}
          className={look && deservesLook(sum.idle, whole) ? "idle look" : "idle"}
        />
      </dl>
      {!single && (
        <p className="muted" title={D.perStep.text}>
          {counted(rows.length, "wait")} in {counted(report.steps.length, "step")},{" "}
          {duration(sum.blocked / steps)} per step; the longest {duration(sum.longest)}
        </p>
      )}
      <dl className="facts">
        <WaitedFor node={node} />
        <div title={D.thread.text}>
          <dt>{D.thread.title}</dt>
          <dd>
            <Name text={thread.value ?? `${thread.different} different`} />
          </dd>
        </div>
      </dl>
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
        <span
          className="against-bar"
          aria-hidden="true"
          style={{ inlineSize: `${share * 100}%` }}
        />
      </dd>
    </div>
  );
}

/** The work it was for; of several waits that of the longest. */
function WaitedFor({ node }: { node: SyncNode }): ReactElement | null {
  const wait = longestOf(node)?.sync.waited_for;
  if (wait === undefined) return null;
  return (
    <div className="waited-for" title={D.waitedFor.text}>
      <dt>{node.rows.length > 1 ? `longest ${D.waitedFor.title}` : D.waitedFor.title}</dt>
      <dd>
        {wait === null ? (
          NOTHING
        ) : (
          <>
            <Name text={wait.name} className="code wrap" />
            <span className="muted">
              {duration(wait.duration_us)} on device <bdi>{wait.device}</bdi>, stream{" "}
              <bdi>{wait.stream}</bdi>
            </span>
          </>
        )}
      </dd>
    </div>
  );
}
