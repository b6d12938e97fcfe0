import type { ReactElement } from "react";

import type { Comparison, Pair, SpreadPair } from "../../api/schema";
import { useWords } from "../../components/words";
import { isHighlighted } from "../../report/syncs";
import { define, type Definition } from "../../text/definitions";
import { bytes, count, duration } from "../../text/formats";
import {
  bytesChange,
  changeOf,
  countChange,
  moreLostInSyncs,
  noiseText,
  rangeText,
} from "./changes";
import { COMPARE_TOTAL_DEFINITIONS as D } from "./definitions";

/** The means of both sides. */
export function Totals({ comparison }: { comparison: Comparison }): ReactElement {
  const device = comparison.measure === "device";
  const { spread } = comparison;
  const { whole_step_us: long, step_us: step } = comparison;
  const ahead = long.base !== step.base || long.other !== step.other;
  const whole: [Definition, Pair, undefined][] = ahead ? [[D.whole, long, undefined]] : [];
  const { unrecorded_step_us: without } = comparison;
  const estimate: [Definition, Pair, undefined][] =
    without.base !== null || without.other !== null ? [[D.unrecorded, without, undefined]] : [];
  const times: [Definition, Pair, SpreadPair | undefined][] = [
    ...whole,
    ...estimate,
    [ahead ? D.stepHost : D.step, comparison.step_us, spread.duration_us],
    [D.busy, comparison.device_busy_us, spread.device_busy_us],
    [D.idle, comparison.device_idle_us, spread.device_idle_us],
    device
      ? [D.forward, comparison.forward_us, undefined]
      : [D.forwardHost, comparison.forward_us, spread.forward_us],
    device
      ? [D.backward, comparison.backward_us, undefined]
      : [D.backwardHost, comparison.backward_us, spread.backward_us],
    [D.blocked, comparison.sync_blocked_us, spread.sync_blocked_us],
  ];
  const { syncs } = comparison;
  const longest = Math.max(step.base ?? 0, step.other ?? 0);
  const { base, other } = comparison;
  const lost = moreLostInSyncs(comparison);
  return (
    <>
      <p className="muted">
        Before: {base.text}. After: {other.text}.
      </p>
      <Warnings of="Before" texts={base.warnings} />
      <Warnings of="After" texts={other.warnings} />
      <dl className="totals" aria-label="Totals">
        {times.map(([definition, pair, of]) => (
          <Total
            key={definition.title}
            definition={definition}
            from={duration(pair.base)}
            to={duration(pair.other)}
            change={`${changeOf(pair.change)}${noiseText(pair, of)}`}
            range={rangeText(of)}
            look={pair === comparison.sync_blocked_us && isHighlighted(lost, longest)}
          />
        ))}
        <Total
          definition={D.syncs}
          from={count(syncs.base)}
          to={count(syncs.other)}
          change={countChange(syncs.change)}
          look={false}
        />
        {comparison.memory.map(({ id, allocated_bytes: peak }) => (
          <Total
            key={id}
            definition={define(`peak memory, ${id}`, D.memory.text, "bytes")}
            from={bytes(peak.base)}
            to={bytes(peak.other)}
            change={bytesChange(peak.change)}
            look={false}
          />
        ))}
      </dl>
    </>
  );
}

interface TotalProps {
  definition: Definition;
  from: string;
  to: string;
  change: string;
  /** How both sides vary from step to step. */
  range?: string;
  look: boolean;
}

function Total({ definition, from, to, change, range, look }: TotalProps): ReactElement {
  const words = useWords();
  return (
    <div title={`${words(definition.text)}${range ?? ""}`}>
      <dt>{words(definition.title)}</dt>
      <dd>
        <span className="muted">{from} →</span> <strong>{to}</strong>
      </dd>
      <dd className={look ? "look" : "muted"}>{change}</dd>
    </div>
  );
}

/** What makes the figures of one side wrong. */
function Warnings({ of, texts }: { of: string; texts: readonly string[] }): ReactElement {
  return (
    <>
      {texts.map((text) => (
        <p key={text} className="muted">
          {of}: {text}.
        </p>
      ))}
    </>
  );
}
