import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import type { ReportData, Runs } from "../../api/schema";
import { duration } from "../../text/formats";
import { stepLabel } from "../../text/names";
import { BreakdownBlock, Devices, Kinds } from "./Blocks";
import { Coverage, DataQuality, SevereWarnings, TraceBlock } from "./Quality";
import { StepsChart } from "./StepsChart";
import { SummaryFigures } from "./SummaryFigures";
import { TopFindings } from "./TopFindings";
import { TopModules } from "./TopModules";
import { RunNote, Verdict } from "./Verdict";

interface SummaryViewProps {
  report: ReportData;
  /** Of all steps, whatever step is shown. */
  whole: ReportData;
  target: Target;
  listed: Runs;
}

/** The bottleneck, what to change and the top classes of modules; all else is folded. */
export function SummaryView({ report, whole, target, listed }: SummaryViewProps): ReactElement {
  return (
    <div className="view">
      <div className="view-main summary">
        <Verdict report={report} />
        <RunNote report={whole} target={target} listed={listed} />
        <SevereWarnings report={report} />
        <div className="summary-first">
          <TopFindings report={report} />
          <TopModules report={report} />
        </div>
        <details className="summary-details">
          <summary>
            Details: host and device time, kernels by kind, breakdown, devices, data quality
          </summary>
          <div className="summary-head">
            <SummaryFigures report={report} />
            <p className="muted">{meansText(report, whole)}</p>
          </div>
          <StepsChart whole={whole} />
          <div className="summary-more">
            <Devices report={report} />
            <Kinds report={report} />
            <BreakdownBlock report={report} />
            <Coverage report={report} />
            <DataQuality report={report} />
            <TraceBlock report={report} />
          </div>
        </details>
      </div>
    </div>
  );
}

/** Of which steps the figures are, and what of the device's work is in none of them. */
export function meansText(report: ReportData, whole: ReportData): string {
  const { marked, text: of } = report.per_step;
  const text = `All times ${marked ? "per step:" : "are of"} ${of}.`;
  const held = whole.steps.filter((step) => (step.launched_before_us ?? 0) > 0);
  if (held.length === 0) return text;
  const parts = held.map(
    (step) => `step ${stepLabel(step.name)} (${duration(step.launched_before_us)})`,
  );
  return `${text} Device events that were launched before the trace began are in no step's sums; they ran in ${parts.join(", ")}.`;
}
