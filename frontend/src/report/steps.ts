import type { WireIdle, WireReport, WireStep } from "../api/types";

/** Parts of a bar, in the order in which they are drawn. */
export const PHASES = ["forward", "backward", "optimizer", "data", "other"] as const;
export type Phase = (typeof PHASES)[number];

export const DEVICE_PARTS = [
  "busy",
  "sync",
  "data_loading",
  "copy",
  "allocator",
  "launch",
  "communication",
  "profiler",
  "device",
  "unknown",
] as const satisfies readonly ("busy" | keyof WireIdle)[];
export type DevicePart = (typeof DEVICE_PARTS)[number];

export interface Part<Key extends string = string> {
  readonly key: Key;
  readonly us: number;
}

/** One step with what host and devices did in it, microseconds. */
export interface StepBars {
  /** null: the mean of all. */
  readonly name: string | null;
  readonly duration: number;
  readonly host: readonly Part<Phase>[];
  /** The mean over the devices; null where the trace holds none. */
  readonly device: readonly Part<DevicePart>[] | null;
}

/** Every step, with their mean before them where there are several. */
export function stepBars(report: WireReport): StepBars[] {
  const devices = Math.max(1, Object.keys(report.totals.device_busy_us).length);
  const bars = report.steps.map((step) => barsOf(step, devices));
  return bars.length > 1 ? [meanOf(bars), ...bars] : bars;
}

function barsOf(step: WireStep, devices: number): StepBars {
  return {
    name: step.name,
    duration: step.duration_us,
    host: PHASES.map((key) => ({ key, us: step[`${key}_us`] })),
    device: deviceParts(step, devices),
  };
}

function deviceParts(step: WireStep, devices: number): Part<DevicePart>[] | null {
  const { device_busy_us: busy, device_idle_us: whole, idle } = step;
  if (busy === null) return null;
  const idleOf = (key: keyof WireIdle): number =>
    idle === null ? (key === "unknown" ? (whole ?? 0) : 0) : idle[key];
  return DEVICE_PARTS.map((key) => ({
    key,
    us: (key === "busy" ? busy : idleOf(key)) / devices,
  }));
}

function meanOf(bars: readonly StepBars[]): StepBars {
  const told = bars.map(({ device }) => device).filter((parts) => parts !== null);
  return {
    name: null,
    duration: bars.reduce((sum, { duration }) => sum + duration, 0) / bars.length,
    host: meanParts(bars.map(({ host }) => host)),
    device: told.length === bars.length ? meanParts(told) : null,
  };
}

function meanParts<Key extends string>(bars: readonly (readonly Part<Key>[])[]): Part<Key>[] {
  return (bars[0] ?? []).map(({ key }, at) => ({
    key,
    us: bars.reduce((sum, parts) => sum + (parts[at]?.us ?? 0), 0) / bars.length,
  }));
}

/** ProfilerStep#5 is step 5 to everyone. */
export function stepLabel(name: string | null): string {
  return name === null ? "mean" : name.replace(/^ProfilerStep#/, "");
}
