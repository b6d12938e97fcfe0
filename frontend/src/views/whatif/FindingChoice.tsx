import type { ReactElement } from "react";

import type { Finding, ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { Term } from "../../components/Tip";
import { placeText } from "../../report/findings";
import { durationScale, type DurationScale, NOTHING, scaledDuration } from "../../text/formats";
import type { WhatIfPlace } from "./address";
import { WHATIF_DEFINITIONS as D } from "./definitions";
import { allGone, isGone, toggled, unknownFindings, useChangeQuestion } from "./question";

interface FindingChoiceProps {
  report: ReportData;
  place: WhatIfPlace;
}

/** The findings, each of which can be taken out. */
export function FindingChoice({ report, place }: FindingChoiceProps): ReactElement {
  const change = useChangeQuestion();
  const { findings } = report;
  const estimated = findings.filter(({ gain_us_per_step: gain }) => gain !== null);
  const unknown = unknownFindings(place, findings);
  const scale = durationScale(Math.max(0, ...findings.map((one) => one.gain_us_per_step ?? 0)));
  return (
    <section className="facet whatif-findings" aria-label="Findings that are gone">
      <header>
        <h2>
          Apply fixes <span className="muted">of these findings</span>
        </h2>
        <span className="links">
          <button
            type="button"
            className="link"
            disabled={estimated.length === 0}
            onClick={() => change((now) => allGone(now, estimated))}
          >
            All
          </button>
          <button
            type="button"
            className="link"
            disabled={place.without.length === 0}
            onClick={() => change((now) => ({ ...now, without: [] }))}
          >
            None
          </button>
        </span>
      </header>
      {findings.length === 0 && unknown.length === 0 && (
        <p className="muted">These steps have no finding that could be taken out.</p>
      )}
      {findings.length > 0 && (
        <div className="whatif-finding-heads">
          <span>finding</span>
          <Term text={D.findingGain.text}>{D.findingGain.title}</Term>
        </div>
      )}
      <ul className="whatif-list">
        {unknown.map((id) => (
          <Unknown key={id} id={id} />
        ))}
        {findings.map((finding) => (
          <Choice
            key={finding.id}
            finding={finding}
            scale={scale}
            gone={isGone(place, finding)}
            all={findings}
          />
        ))}
      </ul>
    </section>
  );
}

interface ChoiceProps {
  finding: Finding;
  scale: DurationScale;
  gone: boolean;
  all: readonly Finding[];
}

function Choice({ finding, scale, gone, all }: ChoiceProps): ReactElement {
  const change = useChangeQuestion();
  const gain = finding.gain_us_per_step;
  return (
    <li>
      <label className="whatif-choice">
        <input
          type="checkbox"
          checked={gone}
          disabled={gain === null && !gone}
          onChange={() => change((now) => toggled(now, finding, all))}
        />
        <span className="whatif-what">
          <Name text={finding.title} />
          <Name text={placeText(finding)} className="code muted" />
        </span>
        <span
          className={gain === null ? "number muted" : "number"}
          title={finding.gain_unknown ?? undefined}
        >
          {gain === null ? "not estimated" : scaledDuration(gain, scale)}
        </span>
      </label>
    </li>
  );
}

/** What the address takes out and these steps do not have. */
function Unknown({ id }: { id: string }): ReactElement {
  const change = useChangeQuestion();
  return (
    <li>
      <label className="whatif-choice">
        <input
          type="checkbox"
          checked
          onChange={() =>
            change((now) => ({ ...now, without: now.without.filter((one) => one !== id) }))
          }
        />
        <span className="whatif-what">
          <span>Not found here</span>
          <Name text={id} className="code muted" />
        </span>
        <span className="number">{NOTHING}</span>
      </label>
    </li>
  );
}
