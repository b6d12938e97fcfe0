import type { Module, ReportData, Work } from "../../api/schema";
import type { CallMeasure } from "../../api/client";
import {
  backwardTime,
  backwardTotal,
  forwardTime,
  measureOf,
  totalTime,
  unattributedTime,
  type Averaging,
  type Measure,
} from "../../report/measures";
import { sumOf } from "../../text/numbers";
import type { Quantity } from "./address";

/** Which of the report's numbers the page shows. */
export interface ChosenQuantity {
  readonly quantity: Quantity;
  readonly clock: Measure;
  readonly averaging: Averaging;
}

/** What was asked for; null leaves it to the report. */
export interface Wanted {
  quantity: Quantity | null;
  clock: Measure | null;
  averaging: Averaging;
}

/** Which number of a call is shown; of what has no calls of its own, the backward's. */
export function callMeasure({ quantity, clock }: ChosenQuantity): CallMeasure {
  if (quantity === "communication") return "communication_us";
  return callField(quantity === "forward" ? "forward" : "backward", clock);
}

/** The field of a call that holds a direction's time by a clock. */
export function callField(
  direction: "forward" | "backward",
  clock: Measure,
): Exclude<CallMeasure, "communication_us"> {
  return `${direction}_${clock === "device" ? "compute" : "host"}_us`;
}

/** What is shown: as it was asked for, as far as the trace holds it. */
export function chooseQuantity(report: ReportData, wanted: Wanted): ChosenQuantity {
  const quantity = wanted.quantity ?? ((backwardTotal(report) ?? 0) > 0 ? "backward" : "forward");
  const clocks = clocksOf(report, quantity);
  const asked = clocks.find((clock) => clock === wanted.clock);
  return { quantity, clock: asked ?? clocks[0] ?? "host", averaging: wanted.averaging };
}

/** Whose time of a quantity the trace holds, the one to show first. */
export function clocksOf(report: ReportData, quantity: Quantity): Measure[] {
  if (quantity === "communication") return ["device"];
  const device =
    quantity === "forward"
      ? report.modules.some((module) => (module.forward.device_us ?? 0) > 0)
      : measureOf(report) === "device";
  return device ? ["device", "host"] : ["host"];
}

/** Whether any module has time of this kind. */
export function holds(report: ReportData, quantity: Quantity): boolean {
  if (quantity === "recompute") return report.modules.some((module) => module.recompute !== null);
  if (quantity === "forward") return report.modules.length > 0;
  if (quantity === "backward") return (backwardTotal(report) ?? 0) > 0;
  return report.modules.some((module) => (communication(module) ?? 0) > 0);
}

/** The work of a quantity that has a direction; null where the module has none of it. */
export function workOf(module: Module, quantity: Quantity): Work | null {
  return quantity === "communication" ? null : module[quantity];
}

/** Time of a module, children included, in microseconds; null where unknown. */
export function totalOf(module: Module, chosen: ChosenQuantity): number | null {
  if (chosen.quantity === "communication") return communication(module);
  const work = workOf(module, chosen.quantity);
  return work === null ? null : totalTime(work, chosen.clock);
}

/** Time of everything: what shares are of; null where unknown. */
export function wholeOf(report: ReportData, chosen: ChosenQuantity): number | null {
  const { quantity, clock } = chosen;
  const roots = rootTotal(report, chosen);
  if (quantity === "backward") return backwardTime(report, clock);
  const total =
    quantity === "communication"
      ? report.totals.communication_device_us
      : quantity === "forward"
        ? forwardTime(report, clock)
        : null;
  return total === null ? roots : Math.max(total, roots ?? 0);
}

/** What of it belongs to no module; null where unknown. */
export function restOf(report: ReportData, chosen: ChosenQuantity): number | null {
  const { quantity, clock } = chosen;
  if (quantity === "backward") return unattributedTime(report, clock);
  if (quantity === "recompute" || clock === "host") return null;
  const whole = wholeOf(report, chosen);
  return whole === null ? null : whole - (rootTotal(report, chosen) ?? 0);
}

function rootTotal(report: ReportData, chosen: ChosenQuantity): number | null {
  return sumOf(
    report.modules.filter((module) => module.parent === null).map((m) => totalOf(m, chosen)),
  );
}

function communication(module: Module): number | null {
  return sumOf([module.forward.communication_us, module.backward.communication_us]);
}
