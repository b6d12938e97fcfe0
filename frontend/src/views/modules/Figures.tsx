import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { headline } from "../../report/headline";
import { type Averaging, divisor, hasBackward, meanStep, stepNote } from "../../report/measures";
import { avoidable, isHighlighted, knownBlocked, lostIn } from "../../report/syncs";
import { NOTHING } from "../../text/formats";
import { over, sumOf } from "../../text/numbers";
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
  const note = head.steps > 1 && averaging === "total" ? `in ${head.steps} steps` : undefined;
  const summed = ["sum over streams", ...(note === undefined ? [] : [note])].join(", ");
  const none = head.ratio === null || head.ratio === 0;
  return (
    <dl className="figures">
      <DurationFigure definition={D.step} us={head.step} note={stepNote(report)} />
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

interface ForwardFiguresProps {
  report: ReportData;
  averaging: Averaging;
}

/** The figures of the forward and of all phases, where there is no backward. */
function ForwardFigures({ report, averaging }: ForwardFiguresProps): ReactElement {
  const figures = forwardFigures(report, averaging);
  const per = report.per_step.of > 1 && averaging === "mean" ? "/step" : "";
  const shown = [
    [figures.device ? D.forwardDevice : D.forwardHost, figures.forward, false],
    [D.idle, figures.idle, false],
    [D.blockedAnywhere, figures.blocked, figures.look],
  ] as const;
  return (
    <dl className="figures">
      <DurationFigure definition={D.step} us={meanStep(report)} note={stepNote(report)} />
      {shown.map(([definition, us, look]) => (
        <DurationFigure
          key={definition.title}
          definition={definition}
          us={us}
          per={per}
          tone={look ? "look" : "plain"}
        />
      ))}
    </dl>
  );
}

interface ForwardNumbers {
  readonly device: boolean;
  /** Microseconds, as the others; null where the trace has none. */
  readonly forward: number | null;
  readonly idle: number | null;
  readonly blocked: number | null;
  /** Whether what the syncs cost deserves a look. */
  readonly look: boolean;
}

export function forwardFigures(report: ReportData, averaging: Averaging): ForwardNumbers {
  const by = divisor(report, averaging);
  const { forward_device_us: onDevice } = report.totals;
  const device = (onDevice ?? 0) > 0;
  const onHost = sumOf(report.steps.map((step) => step.forward_us));
  const syncs = avoidable(report.syncs);
  const blocked = syncs.reduce((sum, sync) => sum + sync.duration_us, 0);
  const lost = syncs.reduce(
    (sum, sync) => sum + (lostIn(sync.duration_us, sync.device_idle_us) ?? 0),
    0,
  );
  return {
    device,
    forward: over(device ? onDevice : onHost, by),
    idle: over(sumOf(report.steps.map((step) => step.device_idle_us)), by),
    blocked: syncs.length === 0 ? null : blocked / by,
    look: isHighlighted(lost / by, meanStep(report)),
  };
}
