import type { LaneKind } from "../../../api/client";
import { lengthOf, type Span } from "../../../text/span";
import {
  bytesOf,
  coloursOf,
  mixed,
  NAME_COLOURS,
  type Palette,
  readableOn,
  type Rgb,
} from "../../../theme/colours";
import { type Blocks, blocksWithin } from "../data/blocks";

/**
 * Blocks as pixels. All lines of a row of blocks look the same but for the first and the last and
 * every few in merged blocks, so a row is worked out once, one line of each kind, and copied: the
 * time it takes hardly depends on how many events there are.
 */
export interface Lines {
  /** Packed pixels, one for each device pixel of the width. */
  readonly body: Uint32Array;
  /** The outermost lines, where corners are off. */
  readonly edge: Uint32Array;
  /** Lines that distinguish merged blocks from single ones. */
  readonly stripe: Uint32Array;
}

/** Colours of blocks, packed; by colour, then by strength. */
export interface Ink {
  readonly ground: number;
  /** `STRENGTHS` of each colour, the palest first. */
  readonly shades: readonly Uint32Array[];
}

/** Where to draw: all of it in device pixels. */
interface Frame {
  readonly span: Span;
  readonly width: number;
  readonly gap: number;
}

export const STRENGTHS = 16;

/** What is shorter than this still shows as this much of a pixel. */
const LEAST_COVER = 0.8;

export function makeLines(width: number): Lines {
  return {
    body: new Uint32Array(width),
    edge: new Uint32Array(width),
    stripe: new Uint32Array(width),
  };
}

export function clearLines(lines: Lines, ground: number): void {
  lines.body.fill(ground);
  lines.edge.fill(ground);
  lines.stripe.fill(ground);
}

/** Draw the blocks of a row, as far as they lie within `clip`; true if there were any. */
export function drawRow(
  lines: Lines,
  blocks: Blocks,
  depth: number,
  clip: Span,
  frame: Frame,
  ink: Ink,
  strength: (index: number) => number,
): boolean {
  const from = Math.max(clip.from, frame.span.from);
  const to = Math.min(clip.to, frame.span.to);
  const scale = frame.width / (frame.span.to - frame.span.from);
  // Whole pixels, so that no seam shows where two pieces meet.
  const left = Math.round((from - frame.span.from) * scale);
  const right = Math.round((to - frame.span.from) * scale);
  const [first, last] = blocksWithin(blocks, depth, from, to);
  for (let index = first; index < last; index++) {
    const start = ((blocks.start[index] ?? 0) - frame.span.from) * scale;
    const end = ((blocks.end[index] ?? 0) - frame.span.from) * scale;
    const shades = ink.shades[blocks.colour[index] ?? 0] ?? ink.shades[0];
    const packed = shades?.[Math.min(STRENGTHS - 1, strength(index))] ?? 0;
    const shownEnd = Math.min(end - Math.min(frame.gap, (end - start) / 4), right);
    if ((start < left && shownEnd <= left) || start >= right) continue;
    drawBlock(lines, Math.max(start, left), shownEnd, {
      packed,
      ground: ink.ground,
      merged: (blocks.count[index] ?? 1) > 1,
      corners: [start >= left, end <= right],
    });
  }
  return last > first;
}

interface Look {
  packed: number;
  ground: number;
  merged: boolean;
  /** Whether its start and its end are drawn, or lie beyond what is. */
  corners: readonly [boolean, boolean];
}

function drawBlock(lines: Lines, from: number, to: number, look: Look): void {
  const { packed, ground, merged, corners } = look;
  const wide = to - from >= 6;
  // What is left of a block next to a cut is no block of its own.
  const least = corners[0] && corners[1] ? LEAST_COVER : 0;
  fill(lines.body, from, to, packed, least);
  fill(
    lines.edge,
    from + (wide && corners[0] ? 1 : 0),
    to - (wide && corners[1] ? 1 : 0),
    packed,
    least,
  );
  fill(
    lines.stripe,
    from,
    to,
    merged && to - from >= 2 ? mix(packed, ground, 0.45) : packed,
    least,
  );
}

/**
 * Colour the pixels from one place to another; those touched in part take part of the colour, and
 * what lies within one pixel at least the share `least` of it.
 */
export function fill(line: Uint32Array, from: number, to: number, packed: number, least = 0): void {
  const cover = to - from;
  const first = Math.floor(from);
  if (cover <= 1 && Math.floor(to) === first) {
    blend(line, first, packed, Math.max(cover, least));
    return;
  }
  const [whole, last] = [Math.ceil(from), Math.floor(to)];
  if (whole > from) blend(line, first, packed, whole - from);
  if (last > whole) line.fill(packed, Math.max(whole, 0), Math.max(last, 0));
  if (to > last) blend(line, last, packed, to - last);
}

function blend(line: Uint32Array, at: number, packed: number, share: number): void {
  if (at >= 0 && at < line.length) line[at] = mix(line[at] ?? 0, packed, share);
}

/** From one packed colour a share of the way to another; works on each of the four bytes. */
export function mix(a: number, b: number, share: number): number {
  const part = Math.round(share * 256);
  const low = (a & 0xff00ff) * (256 - part) + (b & 0xff00ff) * part;
  const high = ((a >>> 8) & 0xff00ff) * (256 - part) + ((b >>> 8) & 0xff00ff) * part;
  return (((low / 256) & 0xff00ff) | (((high / 256) & 0xff00ff) << 8)) >>> 0;
}

/** Copy the lines of a row into a picture: `height` lines from `top`, as far as it has them. */
export function stamp(
  pixels: Uint32Array,
  lines: Lines,
  top: number,
  height: number,
  bounds: { from: number; to: number },
): void {
  const width = lines.body.length;
  const last = Math.min(top + height, bounds.to);
  for (let y = Math.max(top, bounds.from); y < last; y++) {
    const at = y - top;
    const outermost = height >= 6 && (at === 0 || at === height - 1);
    const striped = at % 4 === 2;
    pixels.set(outermost ? lines.edge : striped ? lines.stripe : lines.body, y * width);
  }
}

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
  if (kind === "steps" || kind === "path") return () => most;
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

/** The bytes of a packed colour. */
export function unpacked(value: number): Rgb {
  const [red = 0, green = 0, blue = 0] = new Uint8Array(new Uint32Array([value]).buffer);
  return [red, green, blue];
}

/** As the pixels of a picture hold it, opaque; whatever the machine's order of bytes. */
export function packed([red, green, blue]: Rgb): number {
  return new Uint32Array(new Uint8Array([red, green, blue, 255]).buffer)[0] ?? 0;
}

/** The shades of a colour on a ground, from `least` to `most` per cent of it. */
export function shadesOf(colour: string, ground: string, least: number, most: number): Uint32Array {
  const [ink, paper] = [bytesOf(colour), bytesOf(ground)];
  return Uint32Array.from({ length: STRENGTHS }, (_, strength) => {
    const share = (least + ((most - least) * strength) / (STRENGTHS - 1)) / 100;
    return packed(mixed(paper, ink, share));
  });
}

/** Blocks have the colour of their text by their own, so they can be deeper than elsewhere. */
const DEEPEST = 86;

/** The shades of all meanings, then those of names. */
export function inkOf(meanings: readonly string[], palette: Palette): Ink {
  const { surface, shadeLeast, shadeMost } = palette;
  return {
    ground: packed(bytesOf(surface)),
    shades: [...coloursOf(meanings, palette), ...NAME_COLOURS].map((colour, index) =>
      // A sync is never pale: its text is of a colour that needs the full one.
      meanings[index] === "wait"
        ? shadesOf(colour, surface, 100, 100)
        : shadesOf(colour, surface, shadeLeast, Math.max(shadeMost, DEEPEST)),
    ),
  };
}

/** The colour of text on each shade of each colour. */
export function textsOf(ink: Ink, palette: Palette): string[][] {
  return ink.shades.map((shades) =>
    [...shades].map((shade) => readableOn(unpacked(shade), palette.text, palette.surface)),
  );
}
