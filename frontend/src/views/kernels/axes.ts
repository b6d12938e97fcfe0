/** Where the points and roofs of a roofline lie: both axes are logarithmic, in fractions of them. */

import { figure } from "../../text/formats";

export interface RooflinePoint {
  id: number;
  name: string;
  /** FLOP/byte. */
  intensity: number;
  /** TFLOP/s. */
  rate: number;
  us: number;
  share: number | null;
}

export interface Roof {
  name: string;
  /** TFLOP/s. */
  peak: number;
  gbPerS: number;
}

export interface Axes {
  /** Powers of ten. */
  x: readonly [from: number, to: number];
  y: readonly [from: number, to: number];
}

/** The decades that hold all points, and the peaks above them. */
export function axesOf(points: readonly RooflinePoint[], roofs: readonly Roof[]): Axes {
  const ridges = roofs.map(({ peak, gbPerS }) => (peak * 1000) / gbPerS);
  const peaks = roofs.map(({ peak }) => peak);
  return {
    x: decades([...points.map(({ intensity }) => intensity), ...ridges]),
    y: decades([...points.map(({ rate }) => rate), ...peaks]),
  };
}

function decades(values: readonly number[]): readonly [number, number] {
  const powers = values.filter((value) => value > 0).map((value) => Math.log10(value));
  if (powers.length === 0) return [0, 1];
  const [from, to] = [Math.floor(Math.min(...powers)), Math.ceil(Math.max(...powers))];
  return from === to ? [from - 1, to + 1] : [from, to];
}

/** A power of ten on an axis; small ones in the way that numbers are typed. */
export function tickText(power: number): string {
  return power < -3 ? `1e${power}` : figure(10 ** power);
}

/** From the left or the bottom, 0 to 1. */
export function along(value: number, [from, to]: readonly [number, number]): number {
  return (Math.log10(value) - from) / (to - from);
}

/** TFLOP/s that a device reaches at most at an intensity. */
export function attainable({ peak, gbPerS }: Roof, intensity: number): number {
  return Math.min(peak, (intensity * gbPerS) / 1000);
}

/** The roof from the left edge over its ridge to the right edge. */
export function roofLine(roof: Roof, axes: Axes): [x: number, y: number][] {
  const ridge = (roof.peak * 1000) / roof.gbPerS;
  const [from, to] = [10 ** axes.x[0], 10 ** axes.x[1]];
  const places = [from, ...(ridge > from && ridge < to ? [ridge] : []), to];
  return places.map((x) => [along(x, axes.x), along(attainable(roof, x), axes.y)]);
}

/** A text at a dot of a picture, in pixels. */
export interface DotLabel {
  text: string;
  x: number;
  y: number;
}

/** A dot that may have a label; `r` is its radius in pixels. */
export interface LabelledDot extends DotLabel {
  r: number;
  us: number;
}

const MOST_LABELS = 8;
const FROM_DOT = 2;

/** The labels of the dots with the most time, right or left of them, none upon another or upon a dot. */
export function labelsOf(
  dots: readonly LabelledDot[],
  room: { width: number; height: number; right: number },
): DotLabel[] {
  const placed: (DotLabel & { end: number })[] = [];
  for (const { text, x, y, r } of [...dots].sort((a, b) => b.us - a.us).slice(0, MOST_LABELS)) {
    const length = text.length * room.width;
    for (const from of [x + r + FROM_DOT, x - r - FROM_DOT - length]) {
      const [end, at] = [from + length, y + room.height / 3];
      const free =
        placed.every(
          (one) => Math.abs(one.y - at) >= room.height || one.x > end || one.end < from,
        ) &&
        dots.every(
          (dot) =>
            Math.abs(dot.y - y) >= dot.r + room.height / 2 ||
            dot.x - dot.r > end ||
            dot.x + dot.r < from,
        );
      if (from < 0 || end > room.right || !free) continue;
      placed.push({ text, x: from, y: at, end });
      break;
    }
  }
  return placed;
}
