import type { ReactElement } from "react";

import { duration, percent } from "../../text/formats";
import type { FindingRow } from "./findings";

interface CostBarProps {
  row: FindingRow;
  /** With words below, for the open finding. */
  labelled?: boolean;
}

/** The step as a line, what the finding costs of it, and what a replay without it gains. */
export function CostBar({ row, labelled = false }: CostBarProps): ReactElement {
  const { finding, costShare, gainShare } = row;
  const cost = Math.min(1, costShare ?? 0);
  const gain = Math.min(1, gainShare ?? 0);
  return (
    <>
      <span
        className={labelled ? "cost-bar large" : "cost-bar"}
        role="img"
        aria-label={`cost ${percent(costShare)} of the step, gain ${percent(gainShare)}`}
      >
        {cost > 0 && (
          <span
            className={finding.gain_us_per_step === null ? "cost unknown" : "cost"}
            style={{ inlineSize: `${cost * 100}%` }}
          />
        )}
        {gain > 0 && <span className="gain" style={{ inlineSize: `${gain * 100}%` }} />}
      </span>
      {labelled && (
        <dl className="cost-legend">
          <Part
            swatch="cost"
            title="cost per step"
            us={finding.cost_us_per_step}
            share={costShare}
          />
          <Part
            swatch="gain"
            title="gained without it"
            us={finding.gain_us_per_step}
            share={gainShare}
          />
        </dl>
      )}
    </>
  );
}

interface PartProps {
  swatch: string;
  title: string;
  us: number | null;
  share: number | null;
}

function Part({ swatch, title, us, share }: PartProps): ReactElement {
  return (
    <div>
      <dt>
        <span className={`swatch ${swatch}`} aria-hidden="true" />
        {title}
      </dt>
      <dd>
        {us === null ? "unknown in this trace" : duration(us)}
        {us !== null && share !== null && <span className="muted"> · {percent(share)}</span>}
      </dd>
    </div>
  );
}
