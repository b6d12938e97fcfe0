import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Figure } from "../../components/Figure";
import { headline } from "../../report/headline";
import { hasBackward, meansNote, type Averaging } from "../../report/measures";
import { isHighlighted, knownBlocked } from "../../report/syncs";
import { durationParts, NOTHING } from "../../text/formats";
import { ForwardFigures } from "./ForwardFigures";
import { FIGURE_DEFINITIONS as D } from "./definitions";

interface FiguresProps {
  report: ReportData;
  averaging: Averaging;
}

/** Whether there is a problem, in five numbers. */
export function Figures({ report, averaging }: FiguresProps): ReactElement {
  return hasBackward(report) ? (
    <BackwardFigures report={report} averaging={averaging} />
  ) : (
    <ForwardFigures report={report} averaging={averaging} />
  );
}

function BackwardFigures({ report, averaging }: FiguresProps): ReactElement {
  const head = headline(report, averaging);
  const device = head.measure === "device";
  const [step, stepUnit] = durationParts(head.step);
  const [backward, backwardUnit] = durationParts(head.backward === 0 ? null : head.backward);
  const [idle, idleUnit] = durationParts((head.backward ?? 0) > 0 ? head.idle : null);
  const [blocked, blockedUnit] = durationParts(knownBlocked(report, head.blocked));
  const whole = head.step * (averaging === "mean" ? 1 : head.steps);
  const look = isHighlighted(head.lost, whole);
  const per = report.per_step.of > 1 && averaging === "mean" ? "/step" : "";
  const means = meansNote(report);
  const note = head.steps > 1 && averaging === "total" ? { note: `in ${head.steps} steps` } : {};
  const summed = ["sum over streams", ...Object.values(note)].join(", ");
  const none = head.ratio === null || head.ratio === 0;
  const withPer = (unit: string): string => (unit === "" ? "" : unit + per);
  return (
    <dl className="figures">
      <Figure
        definition={D.step}
        number={step}
        unit={stepUnit}
        {...(means === "" ? {} : { note: means })}
      />
      <Figure
        definition={device ? D.backwardDevice : D.backwardHost}
        number={backward}
        unit={withPer(backwardUnit)}
        tone={(head.backward ?? 0) > 0 ? "backward" : "plain"}
        {...(device ? { note: summed } : note)}
      />
      <Figure
        definition={device ? D.ratioDevice : D.ratioHost}
        number={none ? NOTHING : (head.ratio ?? 0).toFixed(1)}
        unit={none ? "" : "×"}
      />
      <Figure definition={D.backwardIdle} number={idle} unit={withPer(idleUnit)} {...note} />
      <Figure
        definition={D.blocked}
        number={blocked}
        unit={withPer(blockedUnit)}
        tone={look ? "look" : "plain"}
        {...note}
      />
    </dl>
  );
}
