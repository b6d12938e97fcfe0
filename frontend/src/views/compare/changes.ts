import type { Comparison, Pair, SpreadPair, SyncChange } from "../../api/schema";
import { DEVICE_TIME_DEFINITIONS, HOST_PHASE_DEFINITIONS } from "../../report/stepBars";
import { lostIn } from "../../report/syncs";
import {
  bytes,
  clip,
  count,
  duration,
  durationScale,
  NOTHING,
  scaledDuration,
  times,
  type DurationScale,
} from "../../text/formats";
import { kindText, pathText } from "../../text/names";
import { isPerStep } from "./definitions";

/** A difference, always with its sign; a dash where it is not known. */
function signed(value: number | null, write: (size: number) => string): string {
  if (value === null) return NOTHING;
  return value === 0 ? "0" : (value > 0 ? "+" : "\u2212") + write(Math.abs(value));
}

/** A difference of durations. */
export function changeText(us: number | null, scale: DurationScale): string {
  return signed(us, (size) => scaledDuration(size, scale));
}

/** The same on its own, with the unit that suits it. */
export function changeOf(us: number | null): string {
  return signed(us, duration);
}

/** A number of one side: per step in the scale given, or what it takes once. */
export function sideText(
  us: number | null,
  once: number | null | undefined,
  scale: DurationScale,
): string {
  return once == null ? scaledDuration(us, scale) : `${duration(once)} once`;
}

/** How much more the syncs of a step cost, in us: the host's time where some idle time is not known. */
export function moreLostInSyncs({ sync_sites: sites, sync_blocked_us }: Comparison): number | null {
  const idle = sites.reduce<number | null>(
    (sum, { device_idle_us: { change } }) =>
      sum === null || change === null ? null : sum + change,
    0,
  );
  return lostIn(sync_blocked_us.change, idle);
}

/** A difference of counts. */
export function countChange(value: number | null): string {
  return signed(value, count);
}

/** A difference of bytes. */
export function bytesChange(value: number | null): string {
  return signed(value, bytes);
}

/** Says so where steps differ among themselves by as much. */
export function noiseText({ change }: Pair, spread: SpreadPair | undefined): string {
  return (change ?? 0) !== 0 && spread?.within_noise === true ? ", within noise" : "";
}

/** Median and range over the steps of both sides, as further sentences. */
export function rangeText(spread: SpreadPair | undefined): string {
  const sides = [
    ["Before", spread?.base ?? null],
    ["After", spread?.other ?? null],
  ] as const;
  return sides
    .map(([name, of]) =>
      of === null
        ? ""
        : ` ${name}: median ${duration(of.median_us)}, ${duration(of.min_us)} to ${duration(of.max_us)}.`,
    )
    .join("");
}

/** "45.46 → 1.42 ms", in the unit of the larger one. */
export function fromTo(before: number | null, after: number | null): string {
  const scale = durationScale(Math.max(before ?? 0, after ?? 0));
  const from = scaledDuration(before, scale);
  const unit = ` ${scale.unit}`;
  const bare = after !== null && from.endsWith(unit) ? from.slice(0, -unit.length) : from;
  return `${bare} → ${scaledDuration(after, scale)}`;
}

/** A reason that changed with the step: what, by how much, of what sort. */
interface Reason {
  readonly sort: "syncs" | "idle" | "modules" | "kinds" | "phases";
  readonly change: number;
  /** "host blocked in head" */
  readonly text: string;
}

/** Steps of one run differ by this share anyway: what changed by less is as long as before. */
const WORTH_SAYING = 0.02;
const MOST_NAME = 80;
/** A second reason is named where it is this large a part of the first. */
const SECOND = 0.3;
const LAUNCH_BOUND = idleFor(DEVICE_TIME_DEFINITIONS.launch.title);
/** What went the other way is named where it is this large a part of the step's change. */
const AGAINST = 0.5;

/** The comparison in a sentence: from, to, how many times, and what went with it. */
export function compareHeadline(comparison: Comparison): string {
  const { whole_step_us: step, speedup } = comparison;
  if (step.base === null || step.other === null || step.change === null || speedup === null) {
    return "One of the sides has no steps.";
  }
  const head = `${isPerStep(comparison) ? "step" : "trace"} ${fromTo(step.base, step.other)}`;
  if (Math.abs(step.change) < WORTH_SAYING * step.base) return `${head}: as long as before`;
  const direction = Math.sign(step.change);
  const reasons = reasonsOf(comparison, direction).map(said);
  const [against] = reasonsOf(comparison, -direction);
  const why = reasons.length === 0 ? "" : `: ${reasons.join(", ")}`;
  const but =
    against !== undefined && Math.abs(against.change) >= AGAINST * Math.abs(step.change)
      ? `, but ${said(against)}`
      : "";
  return `${head} (${factor(speedup)})${why}${but}`;
}

const LISTS: Readonly<Record<string, string>> = {
  "comparison.modules": "modules",
  "comparison.sync_sites": "syncs",
  "comparison.kernels": "device events",
  "comparison.findings": "findings",
};

/** Which lists are not whole, as the answer would be too large; null where all are. */
export function cutText(cut: Readonly<Record<string, number>>): string | null {
  const lists = Object.entries(cut).map(
    ([list, rows]) => `${count(rows)} ${LISTS[list] ?? "rows"}`,
  );
  if (lists.length === 0) return null;
  return `Too large to be shown whole: the last ${lists.join(", ")} are in the sums and not in the tables. hookview diff --json has all.`;
}

function factor(speedup: number): string {
  const rounded = speedup >= 1 ? speedup : 1 / speedup;
  const text = rounded < 10 ? `${rounded.toFixed(2)}×` : times(rounded);
  return speedup >= 1 ? text : `${text} as long`;
}

function said({ change, text }: Reason): string {
  return `${duration(Math.abs(change))} ${change < 0 ? "less" : "more"} ${text}`;
}

/** The largest reasons of different sorts that went the way the step went. */
function reasonsOf(comparison: Comparison, direction: number): Reason[] {
  const ranked = byHost(
    largest(direction, [
      ...syncs(comparison.sync_sites),
      ...idle(comparison),
      ...modules(comparison),
      ...kinds(comparison),
      ...(comparison.device_busy_us.change === null ? phases(comparison) : []),
    ]),
    largest(direction, phases(comparison)),
  );
  const [first] = ranked;
  if (first === undefined) return [];
  const second = ranked.find(
    ({ sort, change }) =>
      sort !== first.sort && Math.abs(change) >= SECOND * Math.abs(first.change),
  );
  return second === undefined ? [first] : [first, second];
}

function largest(direction: number, reasons: readonly Reason[]): Reason[] {
  return reasons
    .filter(({ change }) => change * direction > 0)
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
}

/** Where the device waited for launches, what the host did then is the reason, if it explains half. */
function byHost(reasons: Reason[], [phase]: readonly Reason[]): Reason[] {
  const [first, ...rest] = reasons;
  if (first?.text !== LAUNCH_BOUND || phase === undefined) return reasons;
  return Math.abs(phase.change) >= Math.abs(first.change) / 2 ? [phase, ...rest] : reasons;
}

/** Syncs of one module, or of one operator not in a module, count together. */
function syncs(sites: readonly SyncChange[]): Reason[] {
  const sums = new Map<string, number>();
  for (const { other_site: other, base_site: base, blocked_us: blocked } of sites) {
    const site = other ?? base;
    const place = site?.module == null ? site?.operator : pathText(site.module);
    const name = place == null ? "" : ` in ${clip(place, MOST_NAME)}`;
    sums.set(name, (sums.get(name) ?? 0) + (blocked.change ?? 0));
  }
  return [...sums].map(([name, change]) => ({
    sort: "syncs",
    change,
    text: `host blocked${name}`,
  }));
}

function idleFor(cause: string): string {
  return `device idle (${cause})`;
}

function idle(comparison: Comparison): Reason[] {
  const words: Readonly<Record<string, { title: string }>> = DEVICE_TIME_DEFINITIONS;
  return reasons("idle", comparison.idle_us, (cause) =>
    cause === "unknown" ? "device idle for unknown reasons" : idleFor(words[cause]?.title ?? cause),
  );
}

function reasons(
  sort: Reason["sort"],
  pairs: Readonly<Record<string, Pair>>,
  text: (name: string) => string,
): Reason[] {
  return Object.entries(pairs).map(([name, { change }]) => ({
    sort,
    change: change ?? 0,
    text: text(name),
  }));
}

function modules(comparison: Comparison): Reason[] {
  return comparison.modules.map(({ path, forward_us: forward, backward_us: backward }) => ({
    sort: "modules",
    change: (forward.change ?? 0) + (backward.change ?? 0),
    text: `${comparison.measure} time in ${clip(pathText(path), MOST_NAME)}`,
  }));
}

function kinds(comparison: Comparison): Reason[] {
  const text = (kind: string): string => `${kindText(kind)} time on the device`;
  return reasons("kinds", comparison.device_us_by_kind, text);
}

/** The host's phases say something where there is no device to say it, or it waits for launches. */
function phases(comparison: Comparison): Reason[] {
  const words: Readonly<Record<string, { title: string }>> = HOST_PHASE_DEFINITIONS;
  const text = (phase: string): string => `${words[phase]?.title ?? phase} time on the host`;
  return reasons("phases", comparison.phases_us, text);
}
