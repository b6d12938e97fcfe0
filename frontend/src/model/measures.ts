import type { WireModule, WireReport } from "../api/types";
import type { ModuleTree } from "./moduleTree";

/** Whose time is shown: the device's, or the host's where a trace holds no device. */
export type Measure = "device" | "host";

/** Numbers over all selected steps, or divided by their number. */
export type Averaging = "mean" | "total";

/** The numbers of one module's row, in the chosen measure; null: not in the trace. */
export interface ModuleNumbers {
  calls: number | null;
  total: number | null;
  self: number | null;
  share: number | null;
  /** The part of the total that is communication; null where there is no device time. */
  communication: number | null;
  host: number | null;
  ratio: number | null;
  kernels: number | null;
  syncs: number | null;
  wait: number | null;
  idle: number | null;
  /** Host wait of this module less that of the modules below it. */
  ownWait: number;
}

export type NumberKey = Exclude<keyof ModuleNumbers, "ownWait">;

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

/** Backward time that no module could be found for, in the report's measure. */
export function unattributedTotal(report: WireReport): number | null {
  return measureOf(report) === "device"
    ? report.coverage.unattributed_us
    : report.coverage.unattributed_host_us;
}

/** One row of numbers per module, in the report's order. */
export function moduleNumbers(
  report: WireReport,
  tree: ModuleTree,
  averaging: Averaging,
): ModuleNumbers[] {
  const measure = measureOf(report);
  const whole = backwardTotal(report);
  const by = divisor(report, averaging);
  return report.modules.map((module, index) => {
    const below = (tree.nodes[index]?.children ?? []).map((child) => report.modules[child]);
    const belowWait = below.reduce((sum, child) => sum + (child?.sync.blocked_us ?? 0), 0);
    const total = totalOf(module, "backward", measure);
    const communication = communicationOf(module, measure);
    return {
      calls: module.calls / by,
      total: over(total, by),
      self: over(
        measure === "device" ? module.backward.self_device_us : module.backward.self_host_us,
        by,
      ),
      share: ratio(total, whole),
      host: over(module.backward.host_us, by),
      communication: over(communication, by),
      ratio: ratio(without(total, communication), totalOf(module, "forward", measure)),
      kernels: over(module.backward.kernels, by),
      syncs: module.sync.count / by,
      wait: module.sync.blocked_us / by,
      idle: over(module.sync.device_idle_us, by),
      ownWait: Math.max(0, module.sync.blocked_us - belowWait) / by,
    };
  });
}

/** a / b, null where one is missing or b is nothing. */
export function ratio(a: number | null, b: number | null): number | null {
  return a === null || b === null || b <= 0 ? null : a / b;
}

/** value / by, null where there is no value. */
export function over(value: number | null, by: number): number | null {
  return value === null ? null : value / by;
}

/** Device time of the collectives in a module's backward: of its gradients, not of its work. */
export function communicationOf(module: WireModule, measure: Measure): number | null {
  const kinds = module.backward.by_kind;
  return measure === "host" || kinds === null ? null : (kinds.communication ?? 0);
}

/** total - part, null where there is no total. */
export function without(total: number | null, part: number | null): number | null {
  return total === null ? null : total - (part ?? 0);
}

function totalOf(
  module: WireModule,
  side: "forward" | "backward",
  measure: Measure,
): number | null {
  return measure === "device" ? module[side].device_us : module[side].host_us;
}
