import type { WireReport } from "../../api/types";
import { avoidable, deservesLook } from "../../report/attention";
import { attributedShare } from "../../report/headline";
import { ratio, stepsLength } from "../../report/measures";

/** The figures on top of the summary; null where the trace does not tell. */
export interface SummaryFigures {
  /** Mean length of a step, microseconds; null without steps. */
  readonly step: number | null;
  readonly steps: number;
  /** Share of the steps in which a device was busy, 0 to 1. */
  readonly busy: number | null;
  /** Share of the steps in the backward pass, 0 to 1; null where there is none. */
  readonly backward: number | null;
  /** Host blocked by waits, microseconds a step; null where nothing can be waited for. */
  readonly blocked: number | null;
  readonly blockedLooks: boolean;
  /** Share of the backward that belongs to a module, 0 to 1. */
  readonly attributed: number | null;
}

export function summaryFigures(report: WireReport): SummaryFigures {
  const steps = Math.max(1, report.steps.length);
  const length = stepsLength(report);
  const blocked = avoidable(report.syncs).reduce((sum, sync) => sum + sync.duration_us, 0);
  const backward = report.steps.reduce((sum, step) => sum + step.backward_us, 0);
  return {
    step: report.steps.length === 0 ? null : length / steps,
    steps: report.steps.length,
    busy: busyShare(report),
    backward: backward > 0 ? ratio(backward, length) : null,
    blocked: report.trace.devices.length === 0 && blocked === 0 ? null : blocked / steps,
    blockedLooks: deservesLook(blocked, length),
    attributed: attributedShare(report),
  };
}

/** Share of the steps in which a device was busy, the mean over devices. */
export function busyShare(report: WireReport): number | null {
  let busy = 0;
  let whole = 0;
  for (const step of report.steps) {
    if (step.device_busy_us === null || step.device_idle_us === null) return null;
    busy += step.device_busy_us;
    whole += step.device_busy_us + step.device_idle_us;
  }
  return ratio(busy, whole);
}
