import type { Module, ReportData, Step, Work } from "../api/schema";
import { count, counted, duration } from "../text/formats";
import { without } from "../text/numbers";

/** Whose time is shown: the device's, or the host's where a trace holds no device. */
export type Measure = "device" | "host";

/** Numbers over all selected steps, or divided by their number. */
export type Averaging = "mean" | "total";

export function measureOf(report: ReportData): Measure {
  return report.coverage.measure === "device" ? "device" : "host";
}

/** By how much sums of a report, which is on the measured steps, are divided. */
export function divisor(report: ReportData, averaging: Averaging): number {
  return averaging === "mean" ? Math.max(1, report.steps.length) : 1;
}

/** Whether calls of a module are not in the trace, so that its work is unknown. */
export function isUnseen({ unseen }: Pick<Module, "unseen">): boolean {
  return unseen !== null;
}

/** Mean length of the measured steps, in microseconds; 0 without steps. */
export function meanStep(report: ReportData): number {
  return report.per_step.duration_us ?? 0;
}

/** Over how many steps the means are: "mean of 2 of 3"; nothing where there is no choice. */
export function meansNote({ per_step: means }: Pick<ReportData, "per_step">): string {
  if (means.chosen || means.of === 1) return "";
  return `mean of ${count(means.steps)} of ${count(means.of)}`;
}

/** What a mean is of: a trace that marks no steps is one. */
export function stepWord({ per_step: { marked } }: Pick<ReportData, "per_step">): string {
  return marked ? "step" : "trace";
}

/** A step is as long as on the host's clock where it is longer by less than this share. */
const LONGER = 0.005;

/** The length of a step where it is not that on the host's clock. */
interface OtherLength {
  /** Microseconds. */
  readonly us: number;
  readonly what:
    | "on the device"
    | "until the device finishes"
    | "with the gap to the next"
    | "of it replayed"
    | "replayed";
}

/** How long a step takes in the replay that the verdict, savings and What-if are about; null without one. */
export function replayedStep({ critical_path_work: path, verdict }: ReportData): number | null {
  const us = path.reduce((whole, row) => whole + row.us, 0);
  return us > 0 ? us : verdict.step_us;
}

/** The step as recorded, where the host's clock has another one, and that of savings, where its replay is off. */
export function otherLengths(report: ReportData): OtherLength[] {
  const host = meanStep(report);
  const recorded = report.verdict.step_us;
  const lengths: OtherLength[] = [];
  if (recorded !== null && isApart(recorded, host)) {
    lengths.push({ us: recorded, what: whatOf(report, recorded) });
  }
  const replayed = replayedStep(report);
  if (replayed !== null && isApart(replayed, recorded ?? host)) {
    lengths.push({ us: replayed, what: "replayed" });
  }
  return lengths;
}

/** What the length of a step in the replay is, where it reads other than that on the host's clock. */
export function replayedWhat(report: ReportData): OtherLength["what"] | "" {
  const last = otherLengths(report).at(-1);
  const us = last?.us ?? meanStep(report);
  return duration(replayedStep(report)) === duration(us) ? (last?.what ?? "") : "replayed";
}

function isApart(us: number, other: number): boolean {
  return Math.abs(us - other) > LONGER * other && duration(us) !== duration(other);
}

/** What makes a step another length than on the host's clock. */
function whatOf(report: ReportData, us: number): OtherLength["what"] {
  if (us < meanStep(report)) return "of it replayed";
  if (isBehind(report)) return "on the device";
  const counts = report.steps.filter((step) => step.counts);
  const [first, last] = [counts.at(0), counts.at(-1)];
  const length = first && last ? last.start_us + last.duration_us - first.start_us : 0;
  const byHost = report.verdict.device_us === null || counts.length * us <= (1 + LONGER) * length;
  return byHost ? "with the gap to the next" : "until the device finishes";
}

/** As `is_behind`: whether steps last longer on the device, which decides them or needs longer alone. */
function isBehind({ verdict, per_step: means }: ReportData): boolean {
  const { bound, device_us: device, device_side_us: side, step_us: step } = verdict;
  if (means.duration_us === null || device === null || step === null) return false;
  const decides = bound === "device" || bound === "communication";
  const needs = decides ? step : Math.min(side ?? 0, step);
  return needs > (1 + LONGER) * means.duration_us;
}

/** What is said of the length of a step on the host's clock: over how many, and the others. */
export function stepNote(report: ReportData): string {
  const others = otherLengths(report).map(({ us, what }) => `${duration(us)} ${what}`);
  return [meansNote(report), ...others].filter((note) => note !== "").join(" · ");
}

/** What sums over all rows are of, said after their title. */
export function rowsNote({ per_step: means }: Pick<ReportData, "per_step">): string {
  if (means.chosen) return counted(means.steps, "step");
  return means.marked ? `whole trace, ${counted(means.of, "step")}` : "whole trace";
}

/** The steps that means are over: those that count, or all where none does. */
export function averagedSteps(steps: readonly Step[]): readonly Step[] {
  const counted = steps.filter((step) => step.counts);
  return counted.length > 0 ? counted : steps;
}

/** Length of the selected steps together, in microseconds. */
export function stepsLength(report: ReportData): number {
  return report.steps.reduce((sum, step) => sum + step.duration_us, 0);
}

/** Backward time of the selected steps in the report's measure, in microseconds. */
export function backwardTotal(report: ReportData): number | null {
  return measureOf(report) === "device"
    ? report.coverage.backward_device_us
    : report.coverage.backward_host_us;
}

/** Whether the backward may be in replayed graphs, of which the trace does not hold the operators. */
export function inGraphs({ totals }: Pick<ReportData, "totals">): boolean {
  return totals.backward_device_us === null && (totals.unplaced_graph_us ?? 0) > 0;
}

/** Whether the trace does not say if there was a backward: in graphs, or where no host is recorded. */
export function backwardUnknown({ totals, steps }: Pick<ReportData, "totals" | "steps">): boolean {
  return (
    inGraphs({ totals }) ||
    (totals.backward_device_us === null && steps.every((step) => step.backward_us === null))
  );
}

/** Whether any of the steps has a backward pass. */
export function hasBackward(report: ReportData): boolean {
  return (
    (backwardTotal(report) ?? 0) > 0 || report.steps.some((step) => (step.backward_us ?? 0) > 0)
  );
}

/** A module's time by a clock, children included; collectives are not its work. */
export function totalTime(work: Work, clock: Measure): number | null {
  return clock === "device" ? work.compute_us : work.host_us;
}

/** The part of it of the module alone. */
export function selfTime(work: Work, clock: Measure): number | null {
  return clock === "device" ? work.self_compute_us : work.self_host_us;
}

/** The backward that such times are a share of. */
export function backwardTime({ coverage }: ReportData, clock: Measure): number | null {
  return clock === "device"
    ? without(coverage.backward_device_us, coverage.communication_device_us)
    : coverage.backward_host_us;
}

/**
 * The forward that such times are a share of: on the device, and without a backward all that ran
 * there but collectives; null on the host, whose phases hold more than modules.
 */
export function forwardTime(report: ReportData, clock: Measure): number | null {
  if (clock === "host") return null;
  const { forward_compute_us: forward, device_us_by_kind: kinds } = report.totals;
  if (hasBackward(report)) return forward;
  const ran = Object.entries(kinds).filter(([kind]) => kind !== "communication");
  return ran.reduce((sum, [, us]) => sum + us, 0);
}

/** The part of the backward that no module could be found for. */
export function unattributedTime({ coverage }: ReportData, clock: Measure): number | null {
  return clock === "device"
    ? without(coverage.unattributed_us, coverage.unattributed_communication_us)
    : coverage.unattributed_host_us;
}
