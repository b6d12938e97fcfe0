import type { ReportData } from "../api/schema";
import { over, ratio, sumOf } from "../text/numbers";
import {
  backwardTime,
  backwardTotal,
  divisor,
  meanStep,
  measureOf,
  stepsLength,
  type Averaging,
  type Measure,
} from "./measures";
import { avoidable, lostIn } from "./syncs";

/** The figures above the fold; times in microseconds, null where the trace holds none. */
export interface Headline {
  measure: Measure;
  steps: number;
  /** Mean length of a step. */
  step: number;
  backward: number | null;
  /** Backward over forward: device time, or length of the phases on the host. */
  ratio: number | null;
  /** Host blocked by syncs in the backward pass. */
  blocked: number;
  /** What of that is lost (`lostIn`). */
  lost: number;
  /** Device idle while the host was in the backward pass; null without a device. */
  idle: number | null;
  /** Share of the backward time that is attributed to a module, 0 to 1. */
  attributed: number | null;
  /** Backward time against the length of the steps, 0 to 1. */
  stepShare: number | null;
}

export function headline(report: ReportData, averaging: Averaging): Headline {
  const by = divisor(report, averaging);
  const backward = backwardTotal(report);
  const stepTotal = stepsLength(report);
  const syncs = avoidable(report.syncs).filter((sync) => sync.phase === "backward");
  return {
    measure: measureOf(report),
    steps: report.steps.length,
    step: meanStep(report),
    backward: over(backward, by),
    ratio: backwardRatio(report),
    blocked: syncs.reduce((sum, sync) => sum + sync.duration_us, 0) / by,
    lost:
      syncs.reduce((sum, one) => sum + (lostIn(one.duration_us, one.device_idle_us) ?? 0), 0) / by,
    idle: over(sumOf(report.steps.map((step) => step.backward_idle_us)), by),
    attributed: attributedShare(report),
    stepShare: ratio(phaseSum(report, "backward_us"), stepTotal),
  };
}

/** Shares of the backward time, 0 to 1. */
export interface Attributed {
  /** Belongs to a module. */
  readonly modules: number;
  /** The part of these whose only name is the label of a Python stack. */
  readonly stackLabels: number;
  /** Ran its forward in somebody's annotation, which is no module. */
  readonly annotations: number;
}

/** What the backward time is attributed to, in the report's measure; null without any. */
export function attributedTo(report: ReportData): Attributed | null {
  const { coverage } = report;
  const device = measureOf(report) === "device";
  const whole = device ? coverage.backward_device_us : coverage.backward_host_us;
  const lost = device ? coverage.unattributed_us : coverage.unattributed_host_us;
  if (whole === null || lost === null || whole <= 0) return null;
  const annotations = (coverage.by_origin.annotation ?? 0) / whole;
  const stackLabels = (coverage.by_origin.python_stack ?? 0) / whole;
  return { modules: Math.max(0, 1 - lost / whole - annotations), stackLabels, annotations };
}

/** Share of the backward time that has a module, in the report's measure. */
export function attributedShare(report: ReportData): number | null {
  return attributedTo(report)?.modules ?? null;
}

function backwardRatio(report: ReportData): number | null {
  return measureOf(report) === "device"
    ? ratio(backwardTime(report, "device"), report.totals.forward_compute_us)
    : ratio(phaseSum(report, "backward_us"), phaseSum(report, "forward_us"));
}

function phaseSum(report: ReportData, phase: "forward_us" | "backward_us"): number | null {
  return sumOf(report.steps.map((step) => step[phase]));
}

type Part = [name: string, us: number];

/** Why time is not attributed, most expensive first. */
export function reasonsOf(report: ReportData): Part[] {
  return parts(report.coverage.unattributed_by_reason);
}

/** What the rest is attributed to, most first. */
export function originsOf(report: ReportData): Part[] {
  return parts(report.coverage.by_origin).map(([name, us]) => [ORIGINS[name] ?? name, us]);
}

const ORIGINS: Record<string, string> = {
  recorder: "modules, by the recorder",
  lightning: "modules, by Lightning",
  "python stack": "modules, by labels of Python stacks",
  annotation: "annotations",
};

/** What attributed the rest, most first. */
export function evidenceOf(report: ReportData): Part[] {
  return evidenceParts(report.coverage.by_evidence);
}

/** Amounts by evidence in words, most first. */
export function evidenceParts(amounts: Record<string, number>): Part[] {
  return parts(amounts).map(([name, us]) => [evidenceText(name), us]);
}

/** What names a module, in words; the server's own word where the page has none. */
export function evidenceText(name: string): string {
  return EVIDENCE[name.replaceAll("_", " ")] ?? name;
}

const EVIDENCE: Readonly<Record<string, string>> = {
  sequence: "sequence numbers",
  mark: "the recorder's marks",
  "backward mark": "the recorder's marks of the backward",
  lightning: "Lightning's annotations",
  "python stack": "Python stacks",
  fwdbwd: "arrows from forward to backward",
  annotation: "annotations",
  follows: "the node that a gradient follows",
  recompute: "recomputation in a checkpoint",
  compiled: "compiled kernels",
  "compiled split": "compiled kernels, split by bytes",
  "compiled near": "neighbours in the compiled graph",
  sharding: "names of FSDP's ranges",
};

function parts(amounts: Record<string, number>): Part[] {
  return Object.entries(amounts)
    .filter(([, us]) => us > 0)
    .map(([name, us]): Part => [name.replaceAll("_", " "), us])
    .sort((a, b) => b[1] - a[1]);
}
