import type { Breakdown, DeviceUse, Module, ReportData, TraceWarning } from "../../api/schema";
import {
  forwardTime,
  type Measure,
  measureOf,
  selfTime,
  unattributedTime,
} from "../../report/measures";
import { avoidable } from "../../report/syncs";
import { groupBy, over, ratio, sumOf, without } from "../../text/numbers";
import type { BREAKDOWN_DEFINITIONS } from "./definitions";

export interface DeviceRow {
  readonly id: string;
  /** Name and number, as "V100 0". */
  readonly name: string;
  readonly utilization: number | null;
  readonly efficiency: number | null;
  readonly occupancy: number | null;
  readonly tensorCores: number | null;
  readonly eligible: number | null;
  /** Share of the communication that is overlapped with computing; null without communication. */
  readonly overlapped: number | null;
  readonly communication: number;
}

export function deviceRows(report: ReportData): DeviceRow[] {
  const names = new Map(report.trace.devices.map(({ id, name }) => [id, name]));
  return report.devices.map((use) => deviceRow(use, names.get(use.device) ?? ""));
}

function deviceRow(use: DeviceUse, name: string): DeviceRow {
  return {
    id: use.id,
    name: `${name === "" ? "device" : name} ${use.device}`,
    utilization: use.utilization,
    efficiency: use.sm_efficiency,
    occupancy: use.occupancy_pct,
    tensorCores: ratio(use.tensor_core_us, use.kernel_us),
    eligible: ratio(use.tensor_core_eligible_us, use.kernel_us),
    overlapped: ratio(use.overlapped_us, use.communication_us),
    communication: use.communication_us,
  };
}

export interface ShareRow<Key extends string = string> {
  readonly key: Key;
  /** Microseconds per step. */
  readonly us: number;
  readonly share: number | null;
}

/** Device events by their kind, most first. */
export function kindRows(report: ReportData): ShareRow[] {
  const kinds = Object.entries(report.per_step.device_us_by_kind);
  const whole = kinds.reduce((sum, [, us]) => sum + us, 0);
  return kinds
    .filter(([, us]) => us > 0)
    .map(([key, us]) => ({ key, us, share: ratio(us, whole) }))
    .sort((a, b) => b.us - a.us);
}

type Category = keyof typeof BREAKDOWN_DEFINITIONS;

const CATEGORIES: readonly Category[] = [
  "kernel",
  "copy",
  "set",
  "communication",
  "runtime",
  "data",
  "host",
  "other",
];

/** The mean step by torch_tb_profiler's categories, which sum to it; empty where it has none. */
export function breakdownRows(breakdown: readonly Breakdown[]): ShareRow<Category>[] {
  if (breakdown.length === 0) return [];
  const mean = (pick: (row: Breakdown) => number): number =>
    breakdown.reduce((sum, row) => sum + pick(row), 0) / breakdown.length;
  const whole = mean((row) => row.duration_us);
  return CATEGORIES.map((key) => {
    const us = mean((row) => row[`${key}_us`]);
    return { key, us, share: ratio(us, whole) };
  });
}

/** What to know about the file, as title and value; what it does not say is said to be so. */
export function traceFacts(report: ReportData): [title: string, value: string][] {
  const { trace } = report;
  const { rank, world_size: world, recorder } = trace;
  const names = [...new Set(trace.devices.map(({ name }) => name).filter((name) => name !== ""))];
  const devices = trace.devices.length === 0 ? "none" : `${trace.devices.length}`;
  return [
    ["torch", trace.torch_version ?? "unknown"],
    ["rank", rank === null ? "unknown" : world === null ? `${rank}` : `${rank} of ${world}`],
    ["devices", names.length === 0 ? devices : `${devices} · ${names.join(", ")}`],
    ["markers", markersText(report, recorder !== null)],
  ];
}

function markersText(report: ReportData, manifest: boolean): string {
  const { recorder } = report;
  if (recorder !== null) {
    return recorder.markers.length === 0 ? "by the recorder" : recorder.markers.join(", ");
  }
  if (manifest) return "the recorder's, none here";
  return report.modules.length > 0 ? "none; modules come from the trace itself" : "none";
}

/** What makes figures of a report wrong, or leaves them out. */
export function severeWarnings(report: ReportData): TraceWarning[] {
  return report.trace.warnings.filter(({ severity }) => severity === "high");
}

/** What an annotation has for a class: each stands for itself. */
const ANNOTATION = "annotation";

/** All modules of one class that have self time, microseconds per step. */
export interface TopClass {
  readonly name: string;
  readonly modules: readonly Module[];
  readonly self: number;
  /** Of the whole pass, 0 to 1. */
  readonly share: number | null;
  readonly blocked: number;
  /** Device idle time of its syncs; null where unknown. */
  readonly idle: number | null;
  readonly loading: number | null;
}

export interface TopModuleRows {
  readonly pass: "backward" | "forward";
  readonly measure: Measure;
  readonly rows: readonly TopClass[];
  /** Communication in modules that is left out, microseconds per step. */
  readonly communication: number;
  /** What belongs to no module, microseconds per step; null where unknown. */
  readonly rest: number | null;
}

/** The classes with the longest self time in the backward; without a backward, in the forward. */
export function topModules(report: ReportData, most: number): TopModuleRows {
  const pass = report.steps.some((step) => (step.backward_us ?? 0) > 0) ? "backward" : "forward";
  const measure = pass === "backward" ? measureOf(report) : forwardMeasure(report);
  const by = Math.max(1, report.steps.length);
  const selfOf = (module: Module): number => selfTime(module[pass], measure) ?? 0;
  const inside = report.modules.reduce((sum, module) => sum + selfOf(module), 0);
  const outside =
    pass === "forward"
      ? without(forwardTime(report, measure), inside)
      : unattributedTime(report, measure);
  const rest = outside === null ? null : Math.max(0, outside);
  const whole = inside + (rest ?? 0);
  const named = report.modules.filter((module) => selfOf(module) > 0);
  const classes = groupBy(named, (module) =>
    module.class === ANNOTATION ? module.path : module.class,
  );
  const rows = [...classes]
    .map(([name, modules]) => classOf(report, name, modules, { selfOf, whole, by }))
    .sort((a, b) => b.self - a.self)
    .slice(0, most);
  const roots = report.modules.filter(({ parent_id: parent }) => parent === null);
  const communication =
    measure === "device"
      ? roots.reduce((sum, module) => sum + (module[pass].communication_us ?? 0), 0) / by
      : 0;
  return { pass, measure, rows, communication, rest: rest === null ? null : rest / by };
}

interface Sums {
  selfOf: (module: Module) => number;
  /** Of the whole pass, microseconds of all steps. */
  whole: number;
  by: number;
}

function classOf(
  report: ReportData,
  name: string,
  modules: readonly Module[],
  { selfOf, whole, by }: Sums,
): TopClass {
  const ids = new Set<number | null>(modules.map(({ id }) => id));
  const syncs = avoidable(report.syncs).filter((sync) => ids.has(sync.module_id));
  const self = modules.reduce((sum, module) => sum + selfOf(module), 0);
  return {
    name,
    modules,
    self: self / by,
    share: ratio(self, whole),
    blocked: syncs.reduce((sum, sync) => sum + sync.duration_us, 0) / by,
    idle: over(sumOf(syncs.map((sync) => sync.device_idle_us)), by),
    loading: over(sumOf(modules.map((module) => module.kernel_loading_us)), by),
  };
}

function forwardMeasure(report: ReportData): Measure {
  return report.modules.some((module) => (module.forward.device_us ?? 0) > 0) ? "device" : "host";
}
