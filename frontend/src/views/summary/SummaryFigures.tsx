import type { ReactElement } from "react";

import type { Place } from "../../address/place";
import type { WireReport } from "../../api/types";
import { PlaceLink } from "../../parts/PlaceLink";
import { attributedShare } from "../../report/headline";
import { meansNote } from "../../report/measures";
import { isHighlighted, lostIn } from "../../report/syncs";
import type { Definition } from "../../text/definitions";
import { durationParts, NOTHING, percent } from "../../text/formats";
import { ratio } from "../../text/numbers";
import { SUMMARY_DEFINITIONS as D } from "./definitions";

/** Whether there is a problem, in five numbers; each leads to where it comes from. */
export function SummaryFigures({ report }: { report: WireReport }): ReactElement {
  const figures = summaryFigures(report);
  const [step, stepUnit] = durationParts(figures.step);
  const [blocked, blockedUnit] = durationParts(figures.blocked);
  const mean = meansNote(report);
  const fresh = { search: "", sort: null } as const;
  return (
    <ul className="figures" aria-label="Figures">
      <LinkedFigure
        definition={D.step}
        number={step}
        unit={stepUnit}
        note={mean}
        to={{ view: "timeline", ...fresh }}
      />
      <LinkedFigure
        definition={D.busy}
        number={share(figures.busy)}
        unit={figures.busy === null ? "" : "%"}
        to={{ view: "timeline", ...fresh }}
      />
      <LinkedFigure
        definition={D.backward}
        number={share(figures.backward)}
        unit={figures.backward === null ? "" : "% of step"}
        tone={figures.backward === null ? "plain" : "backward"}
        to={{ view: "modules", quantity: null, ...fresh }}
      />
      <LinkedFigure
        definition={D.blocked}
        number={blocked}
        unit={blockedUnit === "" ? "" : `${blockedUnit}/step`}
        tone={figures.blockedLooks ? "look" : "plain"}
        to={{ view: "syncs", phase: null, cause: null, sync: null, ...fresh }}
      />
      <LinkedFigure
        definition={D.attributed}
        number={share(figures.attributed)}
        unit={figures.attributed === null ? "" : "%"}
        to={{ view: "modules", quantity: null, ...fresh }}
      />
    </ul>
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
  return (
    <li>
      <PlaceLink to={to} className={`figure ${tone}`} title={definition.text}>
        <span className="figure-title">
          {definition.title}
          {note !== "" && ` · ${note}`}
        </span>
        <span className="figure-number">
          {number}
          {unit !== "" && <span className="unit"> {unit}</span>}
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
  /** Share of the steps in which a device was busy, 0 to 1. */
  readonly busy: number | null;
  /** Share of the steps in the backward pass, 0 to 1; null without one. */
  readonly backward: number | null;
  /** Host blocked by syncs, microseconds a step; null where nothing can be waited for. */
  readonly blocked: number | null;
  readonly blockedLooks: boolean;
  /** Share of the backward that belongs to a module, 0 to 1. */
  readonly attributed: number | null;
}

export function summaryFigures(report: WireReport): SummaryNumbers {
  const { duration_us: step, backward_us: backward, sync_blocked_us: blocked } = report.per_step;
  const { idle } = report.per_step;
  return {
    step,
    busy: busyShare(report),
    backward: (backward ?? 0) > 0 ? ratio(backward, step) : null,
    blocked: report.trace.devices.length === 0 && blocked === 0 ? null : blocked,
    blockedLooks: isHighlighted(lostIn(blocked, idle?.sync ?? null), step ?? 0),
    attributed: attributedShare(report),
  };
}

/** Share of the steps in which a device was busy, the mean over devices. */
export function busyShare(report: WireReport): number | null {
  const { device_busy_us: busy, device_idle_us: idle } = report.per_step;
  return busy === null || idle === null ? null : ratio(busy, busy + idle);
}
