import { useRef, type ReactElement } from "react";

import { withoutFinding } from "../../address/links";
import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { CopyButton } from "../../components/CopyButton";
import { PlaceLink } from "../../parts/PlaceLink";
import { Fix } from "../../parts/Fix";
import { SyncTimeline } from "../../parts/SyncTimeline";
import { priceBasis } from "../../report/findings";
import { CostBar } from "./CostBar";
import { Examples, longestSync } from "./Examples";
import { confidenceDefinition } from "./definitions";
import { findingMarkdown, sentence } from "./findingText";
import type { FindingRow } from "./findings";

interface FindingDetailProps {
  report: ReportData;
  target: Target;
  row: FindingRow;
}

/** What proves a finding, what to do about it, and where it was seen. */
export function FindingDetail({ report, target, row }: FindingDetailProps): ReactElement {
  const source = useRef<HTMLDivElement>(null);
  const { finding } = row;
  const sync = longestSync(row);
  return (
    <>
      <div className="finding-text" ref={source}>
        <section aria-label="Evidence">
          <h3>Evidence</h3>
          <p>{sentence(finding.evidence)}</p>
          <p className="muted">
            Confidence {finding.confidence}. {confidenceDefinition(finding.confidence)?.text}
          </p>
        </section>
        <Fix finding={finding} basis={null} />
        {finding.advice.length > 0 && (
          <section aria-label="Advice" className="advice">
            <h3>Check this as well: it is not in traces</h3>
            <dl>
              {finding.advice.map(({ id, title, fix }) => (
                <div key={id}>
                  <dt>{title}</dt>
                  <dd>{fix}</dd>
                </div>
              ))}
            </dl>
          </section>
        )}
        <div className="links">
          <CopyButton
            label="Copy as Markdown"
            text={findingMarkdown(finding, priceBasis(report))}
            source={source}
          />
          <PlaceLink className="button" to={withoutFinding(finding.id)}>
            What if this were gone
          </PlaceLink>
          {finding.module !== null && (
            <PlaceLink
              className="button"
              to={{ view: "modules", module: finding.module, zoom: null, search: "", sort: null }}
            >
              Show module
            </PlaceLink>
          )}
          <bdi className="code muted">{finding.rule}</bdi>
        </div>
      </div>
      <div className="finding-places">
        <section aria-label="Cost">
          <h3>Per step</h3>
          <CostBar row={row} labelled />
        </section>
        {sync !== null && (
          <section aria-label="Timeline">
            <h3>The longest of its syncs shown here</h3>
            <SyncTimeline report={report} target={target} row={sync} />
          </section>
        )}
        <Examples report={report} row={row} />
      </div>
    </>
  );
}
