import type { Idle, ReportData, Step } from "../api/schema";
import { define, type Definition } from "../text/definitions";
import { duration, percent } from "../text/formats";
import { averagedSteps } from "./measures";

/** Parts of a bar, in the order in which they are drawn. */
export const PHASES = ["forward", "backward", "optimizer", "data", "other"] as const;
export type Phase = (typeof PHASES)[number];

export const DEVICE_PARTS = [
  "busy",
  "sync",
  "data_loading",
  "copy",
  "allocator",
  "kernel_loading",
  "launch",
  "communication",
  "profiler",
  "device",
  "unknown",
] as const satisfies readonly ("busy" | keyof Idle)[];
export type DevicePart = (typeof DEVICE_PARTS)[number];

export interface Part<Key extends string = string> {
  readonly key: Key;
  readonly us: number;
}

/** One step with what host and devices did in it, microseconds. */
export interface StepBars {
  /** null: the mean of all; so the name. */
  readonly id: number | null;
  readonly name: string | null;
  readonly duration: number;
  readonly host: readonly Part<Phase>[];
  /** The mean over the devices; null where the trace holds none. */
  readonly device: readonly Part<DevicePart>[] | null;
}

/** Every step, with the mean of those that count before them where there are several. */
export function stepBars(report: ReportData): StepBars[] {
  const devices = Math.max(1, Object.keys(report.totals.device_busy_us).length);
  const bars = report.steps.map((step) => barsOf(step, devices));
  if (bars.length < 2) return bars;
  return [meanOf(averagedSteps(report.steps).map((step) => barsOf(step, devices))), ...bars];
}

function barsOf(step: Step, devices: number): StepBars {
  return {
    id: step.id,
    name: step.name,
    duration: step.duration_us,
    host: phaseParts(step),
    device: deviceParts(step, devices),
  };
}

/** The phases that the trace shows; null is so for all steps of a trace. */
function phaseParts(step: Step): Part<Phase>[] {
  return PHASES.flatMap((key) => {
    const us = step[`${key}_us`];
    return us === null ? [] : [{ key, us }];
  });
}

function deviceParts(step: Step, devices: number): Part<DevicePart>[] | null {
  const { device_busy_us: busy, device_idle_us: whole, idle } = step;
  if (busy === null) return null;
  const idleOf = (key: keyof Idle): number =>
    idle === null ? (key === "unknown" ? (whole ?? 0) : 0) : (idle[key] ?? 0);
  return DEVICE_PARTS.map((key) => ({
    key,
    us: (key === "busy" ? busy : idleOf(key)) / devices,
  }));
}

function meanOf(bars: readonly StepBars[]): StepBars {
  const known = bars.map(({ device }) => device).filter((parts) => parts !== null);
  return {
    id: null,
    name: null,
    duration: bars.reduce((sum, { duration }) => sum + duration, 0) / bars.length,
    host: meanParts(bars.map(({ host }) => host)),
    device: known.length === bars.length ? meanParts(known) : null,
  };
}

function meanParts<Key extends string>(bars: readonly (readonly Part<Key>[])[]): Part<Key>[] {
  return (bars[0] ?? []).map(({ key }, at) => ({
    key,
    us: bars.reduce((sum, parts) => sum + (parts[at]?.us ?? 0), 0) / bars.length,
  }));
}

/** A part of a bar with its words. */
export interface LabelledPart<Key extends string> extends Part<Key> {
  readonly definition: Definition;
  readonly share: number;
  /** "backward 27.4 ms (18.0%)" */
  readonly title: string;
}

/** Less than this share of a step is in the tooltip of the bar alone. */
const WORTH_A_WORD = 0.001;

export function labelledPhases(parts: readonly Part<Phase>[]): LabelledPart<Phase>[] {
  return labelled(parts, HOST_PHASE_DEFINITIONS);
}

export function labelledDevice(parts: readonly Part<DevicePart>[]): LabelledPart<DevicePart>[] {
  return labelled(parts, DEVICE_TIME_DEFINITIONS);
}

/** What is large enough to be named in a legend. */
export function worthAWord<Key extends string>(
  parts: readonly LabelledPart<Key>[],
): LabelledPart<Key>[] {
  return parts.filter(({ share }) => share >= WORTH_A_WORD);
}

/** All parts that there are, as words. */
export function partsText(parts: readonly LabelledPart<string>[]): string {
  return parts
    .filter(({ us }) => us > 0)
    .map(({ title }) => title)
    .join(", ");
}

function labelled<Key extends string>(
  parts: readonly Part<Key>[],
  definitions: Readonly<Record<Key, Definition>>,
): LabelledPart<Key>[] {
  const whole = parts.reduce((sum, { us }) => sum + us, 0);
  return parts.map((part) => {
    const definition = definitions[part.key];
    const share = whole > 0 ? part.us / whole : 0;
    const title = `${definition.title} ${duration(part.us)} (${percent(share)})`;
    return { ...part, definition, share, title };
  });
}

/** What the host does in a step: five phases that sum to it. */
export const HOST_PHASE_DEFINITIONS = {
  forward: define("forward", "The host was in a forward pass.", "us"),
  backward: define("backward", "The host was in the backward pass.", "us"),
  optimizer: define("optimizer", "The host was in the optimizer.", "us"),
  data: define("data", "The host was in the data loader.", "us"),
  other: define("other", "The host was in none of these phases.", "us"),
} as const;

/** What a device does in a step: busy, and idle by its cause; together they are the step. */
export const DEVICE_TIME_DEFINITIONS = {
  busy: define("busy", "The device did any work: kernels, copies or sets.", "us"),
  sync: define(
    "syncs",
    "Idle because the host waited for the device and launched nothing after that.",
    "us",
  ),
  data_loading: define("data loading", "Idle while the host was in the data loader.", "us"),
  copy: define("copies", "Idle while the host was inside a copy of unpinned memory.", "us"),
  allocator: define("allocator", "Idle while the host allocated or freed device memory.", "us"),
  kernel_loading: define(
    "lazy kernel loading",
    "Idle while the host loaded the code of a kernel, mostly in its first launch.",
    "us",
  ),
  launch: define(
    "launch-bound",
    "Idle because the host launched the next device event too late.",
    "us",
  ),
  communication: define("communication", "Idle because of communication.", "us"),
  profiler: define("profiler", "Idle because of the profiler's own work.", "us"),
  device: define(
    "idle with work queued",
    "Idle although the next device event had been launched in time.",
    "us",
  ),
  unknown: define("unknown", "Idle for a reason that is not in the trace.", "us"),
} as const;
