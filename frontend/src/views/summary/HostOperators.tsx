import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Heads } from "../../components/Heads";
import { ratio } from "../../text/numbers";
import { Block } from "./Blocks";
import { type WorkRow, WorkTable } from "./WorkTable";
import { SUMMARY_OPERATOR_DEFINITIONS as D } from "./definitions";

const MOST = 10;

/** Where the host's time goes, of a trace without a device; nothing where there is one. */
export function HostOperators({ report }: { report: ReportData }): ReactElement | null {
  const rows = report.trace.devices.length === 0 ? hostOperators(report, MOST) : [];
  if (rows.length === 0) return null;
  return (
    <Block
      title="Most expensive operators"
      note="self host time per step"
      from={{ view: "operators", title: "All operators" }}
    >
      <WorkTable head={<Heads of={[D.operator, D.self, { ...D.share, span: 2 }]} />} rows={rows} />
      {atOnce(report) && (
        <p className="muted">
          Longer than a step, as several threads ran at once: the times are summed over threads.
        </p>
      )}
    </Block>
  );
}

/** Whether operators took more time on the host than the steps, which takes several threads. */
export function atOnce({ operators, steps }: ReportData): boolean {
  const whole = steps.reduce((sum, { duration_us: us }) => sum + us, 0);
  return operators.reduce((sum, { self_host_us: us }) => sum + us, 0) > whole;
}

/** The operators with the most self time on the host. */
export function hostOperators({ operators, steps }: ReportData, most: number): WorkRow[] {
  const whole = operators.reduce((sum, { self_host_us: us }) => sum + us, 0);
  return operators
    .filter(({ self_host_us: us }) => us > 0)
    .sort((a, b) => b.self_host_us - a.self_host_us)
    .slice(0, most)
    .map(({ id, name, self_host_us: us }) => ({
      id,
      name,
      us: us / Math.max(1, steps.length),
      share: ratio(us, whole),
    }));
}
