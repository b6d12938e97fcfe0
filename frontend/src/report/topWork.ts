/** What takes most of the time, where no module and no finding says it. */

import type { ReportData } from "../api/schema";
import { ratio } from "../text/numbers";
import { divisor } from "./measures";

export interface WorkRow {
  readonly id: number;
  readonly name: string;
  /** Microseconds per step. */
  readonly us: number;
  /** Of all rows' time, those that are not shown included; 0 to 1. */
  readonly share: number | null;
}

/** The kernels that take the most device time. */
export function topKernels(report: ReportData, most: number): WorkRow[] {
  const kinds = Object.values(report.totals.device_us_by_kind);
  const whole = kinds.reduce((sum, us) => sum + us, 0);
  return [...report.kernels]
    .sort((a, b) => b.total_us - a.total_us)
    .slice(0, most)
    .map(({ id, name, total_us: us }) => ({
      id,
      name,
      us: us / divisor(report, "mean"),
      share: ratio(us, whole),
    }));
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
