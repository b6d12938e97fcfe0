import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { headline } from "../../report/headline";
import { type Averaging, hasBackward, meansNote } from "../../report/measures";
import { isHighlighted, knownBlocked } from "../../report/syncs";
import { NOTHING } from "../../text/formats";
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
  const whole = head.step * (averaging === "mean" ? 1 : head.steps);
  const look = isHighlighted(head.lost, whole);
  const per = report.per_step.of > 1 && averaging === "mean" ? "/step" : "";
  const means = meansNote(report);
  const note = head.steps > 1 && averaging === "total" ? `in ${head.steps} steps` : undefined;
  const summed = ["sum over streams", ...(note === undefined ? [] : [note])].join(", ");
  const none = head.ratio === null || head.ratio === 0;
  return (
    <dl className="figures">
      <DurationFigure definition={D.step} us={head.step} note={means} />
      <DurationFigure
        definition={device ? D.backwardDevice : D.backwardHost}
        us={head.backward === 0 ? null : head.backward}
        per={per}
        tone={(head.backward ?? 0) > 0 ? "backward" : "plain"}
        note={device ? summed : note}
      />
      <Figure
        definition={device ? D.ratioDevice : D.ratioHost}
        number={none ? NOTHING : (head.ratio ?? 0).toFixed(1)}
        unit={none ? "" : "×"}
      />
      <DurationFigure
        definition={D.backwardIdle}
        us={(head.backward ?? 0) > 0 ? head.idle : null}
        per={per}
        note={note}
      />
      <DurationFigure
        definition={D.blocked}
        us={knownBlocked(report, head.blocked)}
        per={per}
        tone={look ? "look" : "plain"}
        note={note}
      />
    </dl>
  );
}
