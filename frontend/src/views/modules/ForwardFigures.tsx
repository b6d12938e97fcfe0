import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { DurationFigure } from "../../components/Figure";
import { type Averaging, divisor, meansNote, meanStep } from "../../report/measures";
import { avoidable, isHighlighted, lostIn } from "../../report/syncs";
import { over, sumOf } from "../../text/numbers";
import { FIGURE_DEFINITIONS as D } from "./definitions";

interface ForwardFiguresProps {
  report: ReportData;
  averaging: Averaging;
}

/** The figures of the forward and of all phases, where there is no backward. */
export function ForwardFigures({ report, averaging }: ForwardFiguresProps): ReactElement {
  const figures = forwardFigures(report, averaging);
  const per = report.per_step.of > 1 && averaging === "mean" ? "/step" : "";
  const shown = [
    [figures.device ? D.forwardDevice : D.forwardHost, figures.forward, false],
    [D.idle, figures.idle, false],
    [D.blockedAnywhere, figures.blocked, figures.look],
  ] as const;
  return (
    <dl className="figures">
      <DurationFigure definition={D.step} us={meanStep(report)} note={meansNote(report)} />
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
