/** Stacked levels as areas, in fractions of the width and height of a chart. */

import { scaleLinear } from "d3-scale";

import type { MemoryCurve } from "../../api/schema";
import type { Span } from "../../text/span";

/** Classes from the bottom of the stack to its top: those that change least lie lowest. */
export const MEMORY_CLASSES = [
  "parameter",
  "before_recording",
  "workspace",
  "optimizer_state",
  "gradient",
  "input",
  "activation",
  "recomputed",
  "temporary",
  "unknown",
] as const;
export type MemoryClass = (typeof MEMORY_CLASSES)[number];

export interface Area {
  readonly key: MemoryClass | "allocated";
  /** An SVG path, from left to right over the top, and back below; x and y from 0 to 1000. */
  readonly path: string;
}

/** Of an SVG's view box, which is stretched to the chart. */
export const SIDE = 1000;

/** Areas of the classes one upon another; of `allocated` alone where the classes are unknown. */
export function areas(curve: MemoryCurve, highest: number): Area[] {
  const x = positions(curve);
  const known = MEMORY_CLASSES.filter((key) => curve.classes[key] !== undefined);
  if (known.length === 0) {
    const floor = curve.allocated_bytes.map(() => 0);
    return [{ key: "allocated", path: area(x, floor, curve.allocated_bytes, highest) }];
  }
  let floor = curve.allocated_bytes.map(() => 0);
  return known.map((key) => {
    const levels = curve.classes[key] ?? [];
    const top = floor.map((level, index) => level + (levels[index] ?? 0));
    const path = area(x, floor, top, highest);
    floor = top;
    return { key, path };
  });
}

/** The area between two levels, as an SVG path. */
export function between(
  curve: MemoryCurve,
  floor: readonly number[],
  top: readonly number[],
  highest: number,
): string {
  return area(positions(curve), floor, top, highest);
}

/** The steps of a line, as that of the reserved bytes. */
export function line(curve: MemoryCurve, levels: readonly number[], highest: number): string {
  return `M${steps(positions(curve), levels, highest).join("L")}`;
}

/** The highest level that a chart must hold. */
export function highestOf(curve: MemoryCurve): number {
  const levels = [...curve.allocated_bytes, ...(curve.reserved_bytes ?? [])];
  return levels.reduce((most, level) => Math.max(most, level), 1);
}

/** Round values of an axis that ends at `most`, with their places from 0 to 1. */
export function ticksTo(from: number, most: number, about: number): [value: number, at: number][] {
  const scale = scaleLinear().domain([from, most]);
  return scale.ticks(about).map((value) => [value, scale(value)]);
}

/** Where a time is in the width of a chart, 0 to 1; outside of it below or above. */
export function fractionOf(curve: Pick<MemoryCurve, "start_us" | "end_us">, us: number): number {
  return (us - curve.start_us) / Math.max(curve.end_us - curve.start_us, 1e-9);
}

/** Index of the level that holds at a fraction of the width. */
export function levelAt(curve: MemoryCurve, fraction: number): number {
  const time = curve.start_us + fraction * (curve.end_us - curve.start_us);
  let low = 0;
  let high = curve.time_us.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((curve.time_us[middle] ?? Infinity) <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A window around the middle of another, `factor` times as long; moved by a part of its length. */
export function moved(span: Span, factor: number, by: number, whole: Span): Span | null {
  const length = Math.min((span.to - span.from) * factor, whole.to - whole.from);
  const middle = (span.from + span.to) / 2 + by * (span.to - span.from);
  const from = Math.min(Math.max(middle - length / 2, whole.from), whole.to - length);
  return length >= whole.to - whole.from ? null : { from, to: from + length };
}

function positions(curve: MemoryCurve): number[] {
  return [...curve.time_us, curve.end_us].map(
    (us) => Math.min(Math.max(fractionOf(curve, us), 0), 1) * SIDE,
  );
}

function area(
  x: readonly number[],
  floor: readonly number[],
  top: readonly number[],
  highest: number,
): string {
  const over = steps(x, top, highest);
  const below = steps(x, floor, highest).reverse();
  return `M${[...over, ...below].join("L")}Z`;
}

function steps(x: readonly number[], levels: readonly number[], highest: number): string[] {
  return levels.flatMap((level, index) => {
    const y = round(SIDE - (level / highest) * SIDE);
    return [`${round(x[index] ?? 0)} ${y}`, `${round(x[index + 1] ?? SIDE)} ${y}`];
  });
}

export function round(value: number): number {
  return Math.round(value * 100) / 100;
}
