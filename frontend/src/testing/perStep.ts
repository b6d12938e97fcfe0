import type { PerStep, ReportData, Step } from "../api/schema";

/** Means over the measured steps, as the server computes them of a report on these. */
export function perStep(report: Omit<ReportData, "per_step">): PerStep {
  const counted = report.steps.filter(({ counts }) => counts);
  const steps = counted.length > 0 ? counted : report.steps;
  const mean = (pick: (step: Step) => number | null): number | null => {
    const values = steps.map(pick).filter((value) => value !== null);
    return steps.length > 0 && values.length === steps.length
      ? values.reduce((sum, value) => sum + value, 0) / values.length
      : null;
  };
  const over = (total: number | null): number | null =>
    total === null || steps.length === 0 ? null : total / steps.length;
  const { totals } = report;
  const syncs = report.syncs.filter(({ cause }) => cause !== "profiler");
  return {
    steps: steps.length,
    of: report.steps.length,
    marked: true,
    chosen: false,
    text: `mean of ${steps.length} of ${report.steps.length} steps`,
    duration_us: mean((step) => step.duration_us),
    forward_us: mean((step) => step.forward_us),
    backward_us: mean((step) => step.backward_us),
    optimizer_us: mean((step) => step.optimizer_us),
    communication_wait_us: mean((step) => step.communication_wait_us),
    data_us: mean((step) => step.data_us),
    other_us: mean((step) => step.other_us),
    device_busy_us: mean((step) => step.device_busy_us),
    device_idle_us: mean((step) => step.device_idle_us),
    idle: null,
    device_us: mean((step) => step.device_us),
    backward_device_us: over(totals.backward_device_us),
    forward_device_us: over(totals.forward_device_us),
    optimizer_device_us: over(totals.optimizer_device_us),
    unplaced_graph_us: over(totals.unplaced_graph_us),
    communication_device_us: over(totals.communication_device_us),
    device_us_by_kind: Object.fromEntries(
      Object.entries(totals.device_us_by_kind).map(([kind, us]) => [kind, us / steps.length]),
    ),
    sync_count: over(syncs.length) ?? 0,
    sync_blocked_us: over(syncs.reduce((sum, sync) => sum + sync.duration_us, 0)) ?? 0,
  };
}
