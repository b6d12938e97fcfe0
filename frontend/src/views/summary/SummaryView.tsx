import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { verdict } from "./verdict";
import { BreakdownBlock, Kinds } from "./Blocks";
import { DearFindings } from "./DearFindings";
import { DearModules } from "./DearModules";
import { Devices } from "./Devices";
import { Coverage, DataQuality, TraceBlock } from "./Quality";
import { StepsChart } from "./StepsChart";
import { SummaryFigures } from "./SummaryFigures";

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
        <div className="summary-head">
          <SummaryFigures report={report} />
          <p className="verdict">{verdict(report)}</p>
        </div>
        <StepsChart whole={whole} />
        <div className="summary-first">
          <DearFindings report={report} />
          <div className="facets">
            <DearModules report={report} />
            <Devices report={report} />
          </div>
        </div>
        <div className="summary-more">
          <Kinds report={report} />
          <BreakdownBlock report={report} />
          <Coverage report={report} />
          <DataQuality report={report} />
          <TraceBlock report={report} />
        </div>
      </div>
    </div>
  );
}
