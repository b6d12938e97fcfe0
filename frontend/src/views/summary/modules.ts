import type { WireModule, WireReport } from "../../api/types";
import { measureOf, ratio, type Measure } from "../../report/measures";

/** One of the dearest modules, microseconds a step. */
export interface DearModule {
  readonly module: WireModule;
  readonly self: number;
  /** Of the whole pass, 0 to 1. */
  readonly share: number | null;
  readonly wait: number;
}

export interface DearModules {
  readonly pass: "backward" | "forward";
  readonly measure: Measure;
  readonly rows: readonly DearModule[];
  /** What belongs to no module, microseconds a step; null where there is no telling. */
  readonly rest: number | null;
}

/** The modules whose own backward is dearest; of a trace without backward, whose own forward is. */
export function dearestModules(report: WireReport, most: number): DearModules {
  const pass = report.steps.some((step) => step.backward_us > 0) ? "backward" : "forward";
  const measure = pass === "backward" ? measureOf(report) : forwardMeasure(report);
  const by = Math.max(1, report.steps.length);
  const selfOf = (module: WireModule): number =>
    (measure === "device" ? module[pass].self_device_us : module[pass].self_host_us) ?? 0;
  const { coverage } = report;
  const rest =
    pass === "forward"
      ? null
      : measure === "device"
        ? coverage.unattributed_us
        : coverage.unattributed_host_us;
  const whole = report.modules.reduce((sum, module) => sum + selfOf(module), 0) + (rest ?? 0);
  const rows = report.modules
    .filter((module) => selfOf(module) > 0)
    .sort((a, b) => selfOf(b) - selfOf(a))
    .slice(0, most)
    .map((module) => ({
      module,
      self: selfOf(module) / by,
      share: ratio(selfOf(module), whole),
      wait: module.sync.blocked_us / by,
    }));
  return { pass, measure, rows, rest: rest === null ? null : rest / by };
}

/** The class, where the path does not say it already, as labels of Python stacks do. */
export function classBeside(module: Pick<WireModule, "path" | "class">): string {
  const { path, class: name } = module;
  const said = path.startsWith(name) && /^(_\d+)?$/.test(path.slice(name.length));
  return said ? "" : name;
}

function forwardMeasure(report: WireReport): Measure {
  return report.modules.some((module) => (module.forward.device_us ?? 0) > 0) ? "device" : "host";
}
