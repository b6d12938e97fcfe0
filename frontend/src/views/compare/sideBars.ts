import type { WireComparison, WirePair } from "../../api/compare";
import type { Definition } from "../../text/definitions";
import { DEVICE_TIME_DEFINITIONS, HOST_PHASE_DEFINITIONS } from "../summary/definitions";
import { DEVICE_PARTS, PHASES, type DevicePart, type Phase } from "../../report/steps";

/** A part of the mean step on both sides. */
export interface SidePart<Key extends string> {
  readonly key: Key;
  readonly definition: Definition;
  readonly pair: WirePair;
}

export interface SideBars {
  readonly phases: readonly SidePart<Phase>[];
  /** null where a side does not tell what its device did. */
  readonly parts: readonly SidePart<DevicePart>[] | null;
  /** What the full width of a bar stands for, microseconds. */
  readonly longest: number;
}

const NOTHING: WirePair = { base: 0, other: 0, change: 0 };

/** The mean step of both sides as parts; what neither side has is left out. */
export function sideBars(comparison: WireComparison): SideBars {
  const { step_us: step, phases_us: phases, idle_us: idle, device_busy_us: busy } = comparison;
  const device = (key: DevicePart): WirePair => (key === "busy" ? busy : (idle[key] ?? NOTHING));
  const parts = DEVICE_PARTS.map((key) => ({
    key,
    definition: DEVICE_TIME_DEFINITIONS[key],
    pair: device(key),
  }));
  const told = busy.change !== null && parts.every(({ pair }) => pair.change !== null);
  const sum = (side: "base" | "other"): number =>
    told ? parts.reduce((all, { pair }) => all + (pair[side] ?? 0), 0) : 0;
  return {
    phases: PHASES.map((key) => ({
      key,
      definition: HOST_PHASE_DEFINITIONS[key],
      pair: phases[key] ?? NOTHING,
    })).filter(isThere),
    parts: told ? parts.filter(isThere) : null,
    longest: Math.max(step.base ?? 0, step.other ?? 0, sum("base"), sum("other")),
  };
}

function isThere({ pair }: { pair: WirePair }): boolean {
  return (pair.base ?? 0) > 0 || (pair.other ?? 0) > 0;
}

/** Less than this share of a step on both sides is in the tooltips of the bars alone. */
const LEAST_SHARE = 0.001;

/** What is large enough to be named in a legend. */
export function worthAWord<Key extends string>(
  parts: readonly SidePart<Key>[],
  longest: number,
): SidePart<Key>[] {
  return parts.filter(
    ({ pair }) => Math.max(pair.base ?? 0, pair.other ?? 0) >= LEAST_SHARE * longest,
  );
}
