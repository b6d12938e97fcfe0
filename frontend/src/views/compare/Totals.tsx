import type { ReactElement } from "react";

import type { WireComparison, WirePair } from "../../api/types";
import { isHighlighted } from "../../report/syncs";
import type { Definition } from "../../text/definitions";
import { count, duration } from "../../text/formats";
import { changeOf, countChange, moreLostInSyncs } from "./changes";
import { COMPARE_TOTAL_DEFINITIONS as D } from "./definitions";

/** The means of both sides. */
export function Totals({ comparison }: { comparison: WireComparison }): ReactElement {
  const device = comparison.measure === "device";
  const times: [Definition, WirePair][] = [
    [D.step, comparison.step_us],
    [D.busy, comparison.device_busy_us],
    [D.idle, comparison.device_idle_us],
    [device ? D.forward : D.forwardHost, comparison.forward_us],
    [device ? D.backward : D.backwardHost, comparison.backward_us],
    [D.blocked, comparison.sync_blocked_us],
  ];
  const { syncs, step_us: step } = comparison;
  const whole = Math.max(step.base ?? 0, step.other ?? 0);
  const { base, other } = comparison;
  const lost = moreLostInSyncs(comparison);
  return (
    <>
      <p className="muted">
        Before: {base.text}. After: {other.text}.
      </p>
      <dl className="totals" aria-label="Totals">
        {times.map(([definition, pair]) => (
          <Total
            key={definition.title}
            definition={definition}
            from={duration(pair.base)}
            to={duration(pair.other)}
            change={changeOf(pair.change)}
            look={pair === comparison.sync_blocked_us && isHighlighted(lost, whole)}
          />
        ))}
        <Total
          definition={D.syncs}
          from={count(syncs.base)}
          to={count(syncs.other)}
          change={countChange(syncs.change)}
          look={false}
        />
      </dl>
    </>
  );
}

interface TotalProps {
  definition: Definition;
  from: string;
  to: string;
  change: string;
  look: boolean;
}

function Total({ definition, from, to, change, look }: TotalProps): ReactElement {
  return (
    <div title={definition.text}>
      <dt>{definition.title}</dt>
      <dd>
        <span className="muted">{from} →</span> <strong>{to}</strong>
      </dd>
      <dd className={look ? "look" : "muted"}>{change}</dd>
    </div>
  );
}
