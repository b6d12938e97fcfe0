import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { duration } from "../../model/formats";

/** What happened when: the trace on one axis of time. */
export function TimelineView({ report }: { report: WireReport }): ReactElement {
  return (
    <div className="view">
      <div className="view-main">{duration(report.trace.duration_us)}</div>
    </div>
  );
}
