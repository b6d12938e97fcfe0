import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import type { Definition } from "../../text/definitions";
import { durationParts, NOTHING, percent } from "../../text/formats";
import type { Place } from "../../address/place";
import { SUMMARY_DEFINITIONS as D } from "./definitions";
import { summaryFigures } from "./figures";
import { PlaceLink } from "../../parts/PlaceLink";

/** Whether there is a problem, in five numbers; each leads to where it comes from. */
export function SummaryFigures({ report }: { report: WireReport }): ReactElement {
  const figures = summaryFigures(report);
  const [step, stepUnit] = durationParts(figures.step);
  const [blocked, blockedUnit] = durationParts(figures.blocked);
  const mean = figures.steps > 1 ? `mean of ${figures.steps}` : "";
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
        to={{ view: "backward", quantity: null, ...fresh }}
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
        to={{ view: "backward", quantity: null, ...fresh }}
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
