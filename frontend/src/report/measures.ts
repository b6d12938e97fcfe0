import type { WireReport } from "../api/types";

/** Whose time is shown: the device's, or the host's where a trace holds no device. */
export type Measure = "device" | "host";

/** Numbers over all selected steps, or divided by their number. */
export type Averaging = "mean" | "total";

export function measureOf(report: WireReport): Measure {
  return report.coverage.measure === "device" ? "device" : "host";
}

/** By how much sums over the selected steps are divided. */
export function divisor(report: WireReport, averaging: Averaging): number {
  return averaging === "mean" ? Math.max(1, report.steps.length) : 1;
}

/** Length of the selected steps together, in microseconds. */
export function stepsLength(report: WireReport): number {
  return report.steps.reduce((sum, step) => sum + step.duration_us, 0);
}

/** Backward time of the selected steps in the report's measure, in microseconds. */
export function backwardTotal(report: WireReport): number | null {
  return measureOf(report) === "device"
    ? report.coverage.backward_device_us
    : report.coverage.backward_host_us;
}

/** What the view of modules is called: after what it is about where the trace has a backward pass. */
export function modulesTitle(report: WireReport | null): "Backward" | "Modules" {
  return report === null || hasBackward(report) ? "Backward" : "Modules";
}

function hasBackward(report: WireReport): boolean {
  return (backwardTotal(report) ?? 0) > 0 || report.steps.some((step) => step.backward_us > 0);
}

/** Backward time that no module could be found for, in the report's measure. */
export function unattributedTotal(report: WireReport): number | null {
  return measureOf(report) === "device"
    ? report.coverage.unattributed_us
    : report.coverage.unattributed_host_us;
}
