/** A heat map of steps by ranks: its scale, colours, and where its cells lie. */

import { mixed, type Rgb } from "../../theme/colours";

export type Values = readonly (readonly (number | null)[])[];

/** Values that the palest and the deepest colour stand for. */
export interface Scale {
  readonly low: number;
  readonly high: number;
}

export interface Cell {
  readonly step: number;
  readonly rank: number;
}

/** Differences below this part of the largest value stay pale. */
const LEAST_SPREAD = 0.1;
/** How much colour the palest cell has. */
const PALEST = 0.06;

/** From the smallest to the largest value; null where nothing is known. */
export function scaleOf(values: Values): Scale | null {
  let [low, high] = [Infinity, -Infinity];
  for (const row of values) {
    for (const value of row) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return null;
  return { low: Math.min(low, high * (1 - LEAST_SPREAD)), high };
}

/** How much colour a value has, 0 to 1. */
export function shade(value: number, { low, high }: Scale): number {
  const share = high > low ? (value - low) / (high - low) : 0;
  return PALEST + (1 - PALEST) * Math.min(Math.max(share, 0), 1);
}

/**
 * One row of values as at most `most` columns. Where several ranks share one, it shows the value
 * that is furthest from the row's median: a rank that differs from the others is never lost.
 */
export function folded(row: readonly (number | null)[], most: number): (number | null)[] {
  if (row.length <= most) return [...row];
  const middle = medianOf(row);
  const far = (value: number | null): number => (value === null ? -1 : Math.abs(value - middle));
  return Array.from({ length: most }, (_, column) => {
    const [from, to] = [column, column + 1].map((at) => Math.floor((at * row.length) / most));
    return row
      .slice(from, to)
      .reduce<number | null>((best, value) => (far(value) > far(best) ? value : best), null);
  });
}

/** The middle of what is known; 0 where nothing is. */
export function medianOf(values: readonly (number | null)[]): number {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const half = Math.floor(known.length / 2);
  const [left = 0, right = left] =
    known.length % 2 === 0 ? known.slice(half - 1) : known.slice(half);
  return known.length % 2 === 0 ? (left + right) / 2 : left;
}

/** Pixels of the map, one for each cell, in rows; a cell without a value is transparent. */
export function pixelsOf(
  values: Values,
  scale: Scale,
  ground: Rgb,
  colour: Rgb,
): Uint8ClampedArray<ArrayBuffer> {
  const width = values[0]?.length ?? 0;
  const pixels = new Uint8ClampedArray(4 * width * values.length);
  values.forEach((row, y) =>
    row.forEach((value, x) => {
      if (value === null) return;
      pixels.set([...mixed(ground, colour, shade(value, scale)), 255], 4 * (y * width + x));
    }),
  );
  return pixels;
}

/** The cell at a place of the map, both in fractions of it; null outside of it. */
export function cellAt(x: number, y: number, steps: number, ranks: number): Cell | null {
  if (x < 0 || x >= 1 || y < 0 || y >= 1) return null;
  return { step: Math.floor(y * steps), rank: Math.floor(x * ranks) };
}

const MOVES: Readonly<Record<string, readonly [step: number, rank: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [0, -16],
  PageDown: [0, 16],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

/** Where a key leads from a cell; null for keys that lead nowhere. */
export function moved(cell: Cell, key: string, steps: number, ranks: number): Cell | null {
  const move = MOVES[key];
  if (move === undefined) return null;
  const within = (at: number, most: number): number => Math.min(Math.max(at, 0), most - 1);
  return {
    step: within(cell.step + move[0], steps),
    rank: within(cell.rank + move[1], ranks),
  };
}

/** Places of the ranks that are written below a map: at most `most`, in even distances. */
export function ticks(ranks: number, most: number): number[] {
  const every = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].find((n) => ranks / n <= most);
  const step = every ?? Math.ceil(ranks / most);
  return Array.from({ length: Math.ceil(ranks / step) }, (_, index) => index * step);
}
