import type { CSSProperties, ReactElement } from "react";

import { withoutFinding } from "../../address/links";
import type { Place } from "../../address/place";
import type { WireReport } from "../../api/types";
import { PlaceLink } from "../../parts/PlaceLink";
import {
  pathHeads,
  pathSegments,
  pathText,
  segmentText,
  type PathSegment,
} from "../../report/pathBar";
import { duration, percent } from "../../text/formats";
import { colourOf, PATH_COLOURS, PHASE_COLOURS, type Palette } from "../../theme/colours";

/** What decides the length of a step, what that consists of, and what the first finding would save. */
export function Verdict({ report }: { report: WireReport }): ReactElement {
  const segments = pathSegments(report);
  const [decides, ...remedy] = unbroken(report.verdict.sentence).split(/(?<=\.) /);
  return (
    <section className="band" aria-label="Verdict">
      <p className="verdict">{decides}</p>
      <Saving report={report} />
      <p className="verdict-remedy">{remedy.join(" ")}</p>
      {report.verdict.unrecorded_sentence !== null && (
        <p className="muted">{unbroken(report.verdict.unrecorded_sentence)}</p>
      )}
      {segments.length > 0 && <PathBar segments={segments} />}
    </section>
  );
}

/** A saving of less than this share of the step is no news. */
const WORTH_SAYING = 0.01;

/** Numbers stay on one line with their units. */
function unbroken(sentence: string): string {
  return sentence.replaceAll(/(?<=\d) (?=(?:us|ms|s|min)\b)/g, "\u00a0");
}

/** The length of a step now and without the first finding. */
function Saving({ report }: { report: WireReport }): ReactElement | null {
  const [first] = report.findings;
  const { step_us: step } = report.verdict;
  const gain = first?.gain_us_per_step ?? null;
  if (first === undefined || step === null || gain === null || gain < WORTH_SAYING * step) {
    return null;
  }
  return (
    <div className="saving">
      <p className="saving-steps">
        {duration(step)} → {duration(step - gain)}
      </p>
      <p className="muted">per step, without the first finding</p>
      <PlaceLink
        to={withoutFinding(first.id)}
        className="saving-button"
        title={`${first.title}: estimate by trace replay`}
      >
        What if
      </PlaceLink>
    </div>
  );
}

function PathBar({ segments }: { segments: readonly PathSegment[] }): ReactElement {
  return (
    <div className="path" role="group" aria-label={`Critical path per step: ${pathText(segments)}`}>
      <div className="path-heads" aria-hidden="true">
        {pathHeads(segments).map(({ key, text, share }) => (
          <span key={key} className="path-head" style={{ flexGrow: share }}>
            {text !== "" && `${text} ${percent(share)}`}
          </span>
        ))}
      </div>
      <div className="path-bar">
        {segments.map((segment) => (
          <Segment key={segment.key} segment={segment} />
        ))}
      </div>
    </div>
  );
}

function Segment({ segment }: { segment: PathSegment }): ReactElement {
  const { label, us, share } = segment;
  const text = `${segmentText(segment)}: ${duration(us)} (${percent(share)})`;
  return (
    <span
      className="path-segment"
      style={{ flexGrow: share, "--part": colourOf(colour(segment)) } as CSSProperties}
    >
      <PlaceLink to={placeOf(segment)} className="path-block" title={text}>
        <span className="path-text">
          <span className="path-label">{label}</span>
          <span className="path-share">
            {duration(us)} <span className="path-percent">{percent(share)}</span>
          </span>
        </span>
      </PlaceLink>
    </span>
  );
}

function colour({ part, phase }: PathSegment): keyof Palette {
  return phase === null ? PATH_COLOURS[part] : PHASE_COLOURS[phase];
}

function placeOf({ part, phase }: PathSegment): Partial<Place> {
  const fresh = { search: "", sort: null } as const;
  if (phase === "forward" || phase === "backward") {
    return { view: "modules", quantity: phase, ...fresh };
  }
  return { view: part === "device" ? "kernels" : "timeline", ...fresh };
}
