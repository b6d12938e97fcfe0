import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { duration } from "../../text/formats";
import { stepLabel } from "../../text/names";
import { BreakdownBlock, Kinds } from "./Blocks";
import { Devices } from "./Devices";
import { HostOperators } from "./HostOperators";
import { Coverage, DataQuality, SevereWarnings, TraceBlock } from "./Quality";
import { StepsChart } from "./StepsChart";
import { SummaryFigures } from "./SummaryFigures";
import { TopFindings } from "./TopFindings";
import { TopModules } from "./TopModules";

interface SummaryViewProps {
  report: WireReport;
  /** Of all steps, whatever step is shown. */
  whole: WireReport;
}

/** Which module to open and what to change, in a minute. */
export function SummaryView({ report, whole }: SummaryViewProps): ReactElement {
  return (
    <div className="view">
      <div className="view-main summary">
        <SevereWarnings report={report} />
        <div className="summary-head">
          <p className="verdict">{report.verdict.sentence}</p>
          {report.verdict.unrecorded_sentence !== null && (
            <p>{report.verdict.unrecorded_sentence}</p>
          )}
          <SummaryFigures report={report} />
          <p className="muted">{meansText(report, whole)}</p>
        </div>
        <StepsChart whole={whole} />
        <div className="summary-first">
          <TopFindings report={report} />
          <div className="facets">
            <TopModules report={report} />
            <Devices report={report} />
          </div>
        </div>
        <div className="summary-more">
          <Kinds report={report} />
          <HostOperators report={report} />
          <BreakdownBlock report={report} />
          <Coverage report={report} />
          <DataQuality report={report} />
          <TraceBlock report={report} />
        </div>
      </div>
    </div>
  );
}

/** Of which steps the figures are, and what of the device's work is in none of them. */
export function meansText(report: WireReport, whole: WireReport): string {
  const text = `All times a step: ${report.per_step.text}.`;
  const held = whole.steps.filter((step) => (step.launched_before_us ?? 0) > 0);
  if (held.length === 0) return text;
  const parts = held.map(
    (step) => `step ${stepLabel(step.name)} (${duration(step.launched_before_us)})`,
  );
  return `${text} Device events that were launched before the trace began are in no step's sums; they ran in ${parts.join(", ")}.`;
}
