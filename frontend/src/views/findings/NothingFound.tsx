import type { ReactElement } from "react";

import type { WireRule } from "../../api/rules";
import type { WireReport } from "../../api/types";
import { countRules } from "../../report/findings";
import { count, counted } from "../../text/formats";
import { Checked } from "./Checked";

interface NothingFoundProps {
  report: WireReport;
  rules: readonly WireRule[] | null;
}

/** No finding: what was looked for, and where. */
export function NothingFound({ report, rules }: NothingFoundProps): ReactElement {
  const { steps, trace, totals } = report;
  const busy = Object.values(totals.device_busy_us).some((us) => us > 0);
  return (
    <section className="nothing-found" aria-label="No findings">
      <h1>No findings</h1>
      <p>
        {rules === null ? "No rule" : `None of ${countRules(rules).visible} rules`} holds in{" "}
        {counted(steps.length, "step")} of this trace, which has {count(trace.events)} events and{" "}
        {counted(totals.sync_count, "host wait")}.
      </p>
      {!busy && (
        <p>
          The trace holds no device work, which most rules are about. Record on a device, with{" "}
          <code>ProfilerActivity.CUDA</code> or its kin among the activities.
        </p>
      )}
      {rules !== null && <Checked rules={rules} open />}
    </section>
  );
}
