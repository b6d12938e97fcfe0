import { lengthOf, type Span } from "./span";
import { STRENGTHS } from "./raster";
import type { Blocks } from "./blocks";
import type { LaneKind } from "../../api/timeline";

/** How strong the colour of a block is: 0 the palest, `STRENGTHS - 1` the full one. */

/** Durations from which on a block without rows below has its palest and its deepest shade. */
const PALEST_US = 1;
const DEEPEST_US = 10_000;

/**
 * In lanes that nest, what is further inside is stronger; elsewhere, what takes longer. Neither
 * depends on what is in view, so that nothing changes its colour while one moves about.
 */
export function strengthOf(
  kind: LaneKind,
  rows: number,
): (blocks: Blocks, index: number, depth: number) => number {
  const most = STRENGTHS - 1;
  if (kind === "steps") return () => most;
  if (kind === "idle") return () => most - 2;
  if (kind === "device") {
    return (blocks, index) => Math.round(shareOfLength(lengthAt(blocks, index)) * most);
  }
  const steps = Math.max(Math.min(rows, 6) - 1, 1);
  return (_, __, depth) => Math.round(Math.min(0.25 + (0.75 * depth) / steps, 1) * most);
}

/** 0 for a microsecond, 1 for ten milliseconds, by powers of ten between. */
export function shareOfLength(us: number): number {
  const share = Math.log(Math.max(us, PALEST_US) / PALEST_US) / Math.log(DEEPEST_US / PALEST_US);
  return 0.2 + 0.8 * Math.min(share, 1);
}

function lengthAt(blocks: Blocks, index: number): number {
  const span: Span = { from: blocks.start[index] ?? 0, to: blocks.end[index] ?? 0 };
  // A merged block is as long as what it holds, on the average.
  return lengthOf(span) / Math.max(blocks.count[index] ?? 1, 1);
}

/** `#rrggbb` as bytes. */
export function bytesOf(hex: string): [red: number, green: number, blue: number] {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** As the pixels of a picture hold it, opaque; whatever the machine's order of bytes. */
export function packed([red, green, blue]: readonly [number, number, number]): number {
  return new Uint32Array(new Uint8Array([red, green, blue, 255]).buffer)[0] ?? 0;
}

/** The shades of a colour on a ground, from `least` to `most` per cent of it. */
export function shadesOf(colour: string, ground: string, least: number, most: number): Uint32Array {
  const [ink, paper] = [bytesOf(colour), bytesOf(ground)];
  return Uint32Array.from({ length: STRENGTHS }, (_, strength) => {
    const share = (least + ((most - least) * strength) / (STRENGTHS - 1)) / 100;
    const part = (n: 0 | 1 | 2): number => Math.round(paper[n] + (ink[n] - paper[n]) * share);
    return packed([part(0), part(1), part(2)]);
  });
}
