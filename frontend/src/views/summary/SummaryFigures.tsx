import type { ReactElement } from "react";

import type { Place } from "../../address/place";
import type { ReportData } from "../../api/schema";
import { Unit } from "../../components/Figure";
import { useWords } from "../../components/words";
import { PlaceLink } from "../../parts/PlaceLink";
import { stepNote } from "../../report/measures";
import { isHighlighted, knownBlocked, lostIn } from "../../report/syncs";
import type { Definition } from "../../text/definitions";
import { durationParts, NOTHING, percent } from "../../text/formats";
import { ratio } from "../../text/numbers";
import { SUMMARY_DEFINITIONS as D } from "./definitions";

/** Whether there is a problem, in a few numbers; each leads to where it comes from. */
export function SummaryFigures({ report }: { report: ReportData }): ReactElement {
  const figures = summaryFigures(report);
  const [step, stepUnit] = durationParts(figures.step);
  const [blocked, blockedUnit] = durationParts(figures.blocked);
  const fresh = { search: "", sort: null } as const;
  return (
    <ul className="figures" aria-label="Figures">
      <LinkedFigure
        definition={D.step}
        number={step}
        unit={stepUnit}
        note={stepNote(report)}
        to={{ view: "timeline", ...fresh }}
      />
      {figures.device ? (
        <LinkedFigure
          definition={D.busy}
          number={share(figures.busy)}
          unit={figures.busy === null ? "" : "%"}
          to={{ view: "timeline", ...fresh }}
        />
      ) : (
        <ShareOfStep definition={D.forward} of={figures.forward} />
      )}
      {figures.device && figures.backward === null ? (
        <ShareOfStep definition={D.forward} of={figures.forward} />
      ) : (
        <ShareOfStep definition={D.backward} of={figures.backward} tone="backward" />
      )}
      {figures.device ? (
        <LinkedFigure
          definition={D.blocked}
          number={blocked}
          unit={blockedUnit === "" ? "" : `${blockedUnit}/step`}
          tone={figures.blockedLooks ? "look" : "plain"}
          to={{ view: "syncs", phase: null, cause: null, sync: null, ...fresh }}
        />
      ) : (
        <ShareOfStep definition={D.optimizer} of={figures.optimizer} />
      )}
    </ul>
  );
}

interface ShareOfStepProps {
  definition: Definition;
  /** 0 to 1; null where there is none. */
  of: number | null;
  tone?: "plain" | "backward";
}

/** How much of a step the host is in a phase. */
function ShareOfStep({ definition, of, tone = "plain" }: ShareOfStepProps): ReactElement {
  return (
    <LinkedFigure
      definition={definition}
      number={share(of)}
      unit={of === null ? "" : "% of step"}
      tone={of === null ? "plain" : tone}
      to={{ view: "modules", quantity: null, search: "", sort: null }}
    />
  );
}

interface LinkedFigureProps {
  definition: Definition;
  number: string;
  unit: string;
  note?: string;
  tone?: "plain" | "backward" | "look";
  to: Partial<Place>;
}

function LinkedFigure(props: LinkedFigureProps): ReactElement {
  const { definition, number, unit, note = "", tone = "plain", to } = props;
  const words = useWords();
  return (
    <li>
      <PlaceLink to={to} className={`figure ${tone}`} title={words(definition.text)}>
        <span className="figure-title">
          {words(definition.title)}
          {note !== "" && ` · ${note}`}
        </span>
        <span className="figure-number">
          {number}
          <Unit text={words(unit)} />
        </span>
      </PlaceLink>
    </li>
  );
}

function share(value: number | null): string {
  return value === null ? NOTHING : percent(value).replace("%", "");
}

/** The figures on top of the summary; null where unknown. */
export interface SummaryNumbers {
  /** Mean length of a step, microseconds; null without steps. */
  readonly step: number | null;
  /** Whether the trace has a device; without one the host's phases are shown instead. */
  readonly device: boolean;
  /** Shares of the steps, 0 to 1; null without such a phase. */
  readonly forward: number | null;
  readonly optimizer: number | null;
  /** Share of the steps in which a device was busy, 0 to 1. */
  readonly busy: number | null;
  /** Share of the steps in the backward pass, 0 to 1; null without one. */
  readonly backward: number | null;
  /** Host blocked by syncs, microseconds per step; null where nothing can be waited for. */
  readonly blocked: number | null;
  readonly blockedLooks: boolean;
}

export function summaryFigures(report: ReportData): SummaryNumbers {
  const { duration_us: step, sync_blocked_us: blocked, idle } = report.per_step;
  const { forward_us: forward, backward_us: backward, optimizer_us: optimizer } = report.per_step;
  const device = report.trace.devices.length > 0;
  const shareOf = (us: number | null): number | null => ((us ?? 0) > 0 ? ratio(us, step) : null);
  return {
    step,
    device,
    forward: shareOf(forward),
    optimizer: shareOf(optimizer),
    busy: busyShare(report),
    backward: shareOf(backward),
    blocked: knownBlocked(report, blocked),
    blockedLooks: isHighlighted(lostIn(blocked, idle?.sync ?? null), step ?? 0),
  };
}

/** Share of the steps in which a device was busy, the mean over devices. */
export function busyShare(report: ReportData): number | null {
  const { device_busy_us: busy, device_idle_us: idle } = report.per_step;
  return busy === null || idle === null ? null : ratio(busy, busy + idle);
}
