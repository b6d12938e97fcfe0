import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { deservesLook } from "../../model/attention";
import { FIGURE_DEFINITIONS as D } from "../../model/definitions";
import { count, durationParts, NOTHING, percent } from "../../model/formats";
import { headline } from "../../model/headline";
import { divisor, type Averaging } from "../../model/measures";
import { Figure } from "../Figure";

interface FiguresProps {
  report: WireReport;
  averaging: Averaging;
}

/** Whether there is a problem, in six numbers. */
export function Figures({ report, averaging }: FiguresProps): ReactElement {
  const head = headline(report, averaging);
  const device = head.measure === "device";
  const [step, stepUnit] = durationParts(head.step);
  const [backward, backwardUnit] = durationParts(head.backward);
  const [blocked, blockedUnit] = durationParts(head.backwardSyncs === 0 ? null : head.blocked);
  const whole = head.step * (averaging === "mean" ? 1 : head.steps);
  const look = deservesLook(head.blocked, whole);
  const per =
    head.steps < 2 ? undefined : averaging === "mean" ? "per step" : `in ${head.steps} steps`;
  const note = per === undefined ? {} : { note: per };
  return (
    <dl className="figures" data-steps={divisor(report, averaging)}>
      <Figure
        definition={D.step}
        number={step}
        unit={stepUnit}
        {...(head.steps > 1 ? { note: `mean of ${head.steps}` } : {})}
      />
      <Figure
        definition={device ? D.backwardDevice : D.backwardHost}
        number={backward}
        unit={backwardUnit}
        tone="backward"
        {...note}
      />
      <Figure
        definition={device ? D.ratioDevice : D.ratioHost}
        number={head.ratio === null ? NOTHING : head.ratio.toFixed(head.ratio < 0.095 ? 2 : 1)}
        unit={head.ratio === null ? "" : "×"}
      />
      <Figure
        definition={D.syncs}
        number={head.backwardSyncs === 0 ? "0" : count(head.backwardSyncs)}
        {...note}
      />
      <Figure
        definition={D.blocked}
        number={blocked}
        unit={blockedUnit}
        tone={look ? "look" : "plain"}
        {...note}
      />
      <Figure definition={D.attributed} number={percent(head.attributed)} />
    </dl>
  );
}
