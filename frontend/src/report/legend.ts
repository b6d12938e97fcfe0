import type { Definition } from "../text/definitions";
import { duration, percent } from "../text/formats";
import type { Place } from "../address/place";
import { DEVICE_TIME_DEFINITIONS, HOST_PHASE_DEFINITIONS } from "../views/summary/definitions";
import type { DevicePart, Part, Phase } from "./steps";

/** A part of a bar with its words. */
export interface ToldPart<Key extends string> extends Part<Key> {
  readonly definition: Definition;
  readonly share: number;
  /** "backward 27.4 ms (18.0%)" */
  readonly title: string;
}

/** Less than this share of a step is in the tooltip of the bar alone. */
const WORTH_A_WORD = 0.001;

export function toldPhases(parts: readonly Part<Phase>[]): ToldPart<Phase>[] {
  return told(parts, HOST_PHASE_DEFINITIONS);
}

export function toldDevice(parts: readonly Part<DevicePart>[]): ToldPart<DevicePart>[] {
  return told(parts, DEVICE_TIME_DEFINITIONS);
}

/** What is large enough to be named in a legend. */
export function worthAWord<Key extends string>(parts: readonly ToldPart<Key>[]): ToldPart<Key>[] {
  return parts.filter(({ share }) => share >= WORTH_A_WORD);
}

/** All parts that there are, as words. */
export function partsText(parts: readonly ToldPart<string>[]): string {
  return parts
    .filter(({ us }) => us > 0)
    .map(({ title }) => title)
    .join(", ");
}

/** Where the page says more of a phase of the host. */
export function phasePlace(phase: Phase): Partial<Place> {
  if (phase === "forward" || phase === "backward") {
    return { view: "backward", quantity: phase, ...FRESH };
  }
  return { view: "timeline", ...FRESH };
}

/** Where the page says more of what a device did. */
export function devicePlace(part: DevicePart): Partial<Place> {
  return { view: part === "sync" ? "syncs" : "timeline", ...FRESH };
}

const FRESH = { search: "", sort: null } as const;

function told<Key extends string>(
  parts: readonly Part<Key>[],
  definitions: Readonly<Record<Key, Definition>>,
): ToldPart<Key>[] {
  const whole = parts.reduce((sum, { us }) => sum + us, 0);
  return parts.map((part) => {
    const definition = definitions[part.key];
    const share = whole > 0 ? part.us / whole : 0;
    const title = `${definition.title} ${duration(part.us)} (${percent(share)})`;
    return { ...part, definition, share, title };
  });
}
