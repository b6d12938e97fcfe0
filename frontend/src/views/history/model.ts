import type { Place } from "../../address/place";
import type { History, HistoryPoints, Runs, SlowSteps, WatchedRecording } from "../../api/schema";
import { percent } from "../../text/formats";

export const WIDTH = 960;
export const LEFT = 84;

/** Size of text in a chart that is drawn as wide as this many pixels: 11 px, as far as that fits its margin. */
export function textSize(width: number): number {
  return Math.min(14, (11 * WIDTH) / Math.max(width, 1));
}

type Series = readonly (number | null)[];

/** Where a step lies between the edges of a chart. */
export function placeOf(step: number, points: HistoryPoints): number {
  const first = points.first[0] ?? 0;
  const last = points.last.at(-1) ?? first;
  return LEFT + ((WIDTH - LEFT) * (step - first)) / Math.max(1, last + 1 - first);
}

/** The middle of each part of the training. */
export function middles(points: HistoryPoints): number[] {
  return points.first.map((first, at) =>
    placeOf((first + (points.last[at] ?? first) + 1) / 2, points),
  );
}

/** A line through values, broken where one is unknown. */
export function linePath(x: readonly number[], values: Series, y: (us: number) => number): string {
  let pen = "M";
  const parts: string[] = [];
  values.forEach((value, at) => {
    if (value === null) {
      pen = "M";
      return;
    }
    parts.push(`${pen}${fixed(x[at] ?? 0)},${fixed(y(value))}`);
    pen = "L";
  });
  return parts.join("");
}

/** What lies between two series, left out where one is unknown. */
export function areaPath(
  x: readonly number[],
  low: Series,
  high: Series,
  y: (us: number) => number,
): string {
  const known = x
    .map((place, at) => ({ place, low: low[at] ?? null, high: high[at] ?? null }))
    .filter(
      (each): each is { place: number; low: number; high: number } =>
        each.low !== null && each.high !== null,
    );
  if (known.length === 0) return "";
  const top = known.map(({ place, high: us }) => `${fixed(place)},${fixed(y(us))}`);
  const bottom = known.map(({ place, low: us }) => `${fixed(place)},${fixed(y(us))}`).reverse();
  return `M${[...top, ...bottom].join("L")}Z`;
}

const fixed = (value: number): string => value.toFixed(1);

export interface Layer {
  name: string;
  low: Series;
  high: Series;
  values: Series;
}

/** Series one upon another; unknown counts as nothing, and is unknown where all are. */
export function layers(series: Readonly<Record<string, Series>>): Layer[] {
  const all = Object.values(series);
  // Without phases what is left over is unknown, and loading alone is no step.
  const isUnknown = (at: number): boolean =>
    series.other?.[at] === null || all.every((each) => each[at] === null);
  let base: Series = all[0]?.map((_, at) => (isUnknown(at) ? null : 0)) ?? [];
  return Object.entries(series).map(([name, values]) => {
    const low = base;
    const high = values.map((value, at) => plus(low[at] ?? null, value));
    base = high;
    return { name, low, high, values };
  });
}

const plus = (base: number | null, value: number | null): number | null =>
  base === null ? null : base + (value ?? 0);

/**
 * The largest value a chart has room for: three times the usual step, so that one long step does not
 * flatten all others, or what most steps take where that is more.
 */
export function ceilingOf(history: History): number {
  const medians = history.points.median_us.filter((us) => us !== null).sort((a, b) => a - b);
  const most = Math.max(1, ...history.points.max_us.map((us) => us ?? 0));
  const usual = medians[Math.floor(medians.length * 0.98)] ?? most;
  return Math.min(most, Math.max(3 * (history.step_us ?? 0), 1.2 * usual)) * 1.05;
}

/** Where a recording opens; null where its file is no longer there. */
export function placeOfRecording(
  recording: WatchedRecording,
  listed: Runs,
  run: string,
): Partial<Place> | null {
  const workers = listed.runs.find(({ name }) => name === run)?.workers ?? [];
  for (const worker of workers) {
    const trace = worker.traces.find(({ file }) => file === recording.file);
    if (trace !== undefined) {
      return { view: "modules", run, worker: worker.name, trace: trace.id, step: null };
    }
  }
  return null;
}

/** One point for each recording, however many ranks made it. */
export function pointsOf(recordings: readonly WatchedRecording[]): WatchedRecording[] {
  const byStart = new Map<number, WatchedRecording>();
  for (const each of recordings) {
    const before = byStart.get(each.start);
    if (before === undefined || (!before.kept && each.kept)) byStart.set(each.start, each);
  }
  return [...byStart.values()];
}

/** A block's module: of neighbours the first. */
export function moduleOfBlock(block: string): string {
  return block.split("..", 1)[0] ?? block;
}

/** The last steps, which may be recorded and so not measured. */
const AT_THE_END = 10;

/** Slow steps; since when, where they lasted to the end. */
export function whenText(slow: SlowSteps, { last_step: end }: History): string {
  const lasts = slow.lasting && slow.last > end - AT_THE_END;
  return lasts ? `since ${slow.first}` : stepsText(slow);
}

/** By how much longer slow steps are than what they are compared with. */
export function longerText({ step_us: step, median_us: median }: SlowSteps): string {
  return median > 0 ? `+${percent(step / median - 1)}` : "";
}

export function stepsText({ first, last }: { first: number; last: number }): string {
  return first === last ? String(first) : `${first}–${last}`;
}
