import type { ReactElement } from "react";

import { findingPlace, withoutFinding } from "../../address/links";
import type { Finding, ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { ShareBar } from "../../components/charts";
import { PlaceLink } from "../../parts/PlaceLink";
import {
  alike,
  placeText,
  priceBasis,
  type PriceBasis,
  priceText,
  savingShare,
  savingText,
} from "../../report/findings";

const MOST = 3;

const NOTHING = "No finding saves 0.5% of the time or more.";

/** What to change first: the findings that save most, each with what it saves and its fix. */
export function TopFindings({ report }: { report: ReportData }): ReactElement {
  const { findings } = report;
  const first = alike(findings.filter((finding) => !finding.negligible)).slice(0, MOST);
  const basis = priceBasis(report);
  return (
    <section className="facet top-findings" aria-label="Top findings">
      <header>
        <h2>What to change first</h2>
        <PlaceLink to={findingPlace(null)}>
          {findings.length > Math.max(1, first.length)
            ? `All ${findings.length} findings`
            : "Findings"}
        </PlaceLink>
      </header>
      {report.device_advice !== null && <p className="muted">{report.device_advice}</p>}
      {findings.length === 0 && (
        <p className="muted">
          {report.device_advice !== null && report.verdict.bound === "unknown"
            ? "No finding: most rules need what the device did."
            : "No rule found anything to change in this trace."}
        </p>
      )}
      {findings.length > 0 && first.length === 0 && <p className="muted">{NOTHING}</p>}
      <ol>
        {first.map(([finding, ...more]) => (
          <TopFinding key={finding.id} finding={finding} more={more.length} basis={basis} />
        ))}
      </ol>
    </section>
  );
}

function TopFinding(props: { finding: Finding; more: number; basis: PriceBasis }): ReactElement {
  const { finding, more, basis } = props;
  return (
    <li>
      <PlaceLink to={findingPlace(finding.id)} className="top-title" title={finding.evidence}>
        <Name text={finding.title} className="wrap" />
      </PlaceLink>
      <p className="top-where">
        <Name text={placeText(finding)} className="code" />
        {more > 0 && (
          <span className="muted">and {more} more like it; figures are of the first</span>
        )}
        <span className="muted">
          {finding.severity === "info" ? "informational" : `confidence ${finding.confidence}`}
        </span>
      </p>
      <div className="top-saving">
        <ShareBar share={savingShare(finding, basis)} />
        {finding.gain_us_per_step === null ? (
          <span className="muted" title={priceText(finding, basis)}>
            {savingText(finding, basis)}
          </span>
        ) : (
          <PlaceLink to={withoutFinding(finding.id)} title={priceText(finding, basis)}>
            {savingText(finding, basis)}
          </PlaceLink>
        )}
      </div>
      <p className="top-fix" title={finding.fix}>
        {finding.fix}
      </p>
    </li>
  );
}
