import type { Module, ReportData } from "../../api/schema";
import {
  forwardTime,
  measureOf,
  selfTime,
  unattributedTime,
  type Measure,
} from "../../report/measures";
import { avoidable } from "../../report/syncs";
import { over, ratio, sumOf, without } from "../../text/numbers";

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
  const classes = new Map<string, Module[]>();
  for (const module of report.modules.filter((module) => selfOf(module) > 0)) {
    const name = module.class === ANNOTATION ? module.path : module.class;
    classes.set(name, [...(classes.get(name) ?? []), module]);
  }
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
