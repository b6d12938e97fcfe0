import type { LaneKind } from "../../../api/client";
import { lengthOf, type Span } from "../../../text/span";
import { coloursOf, NAME_COLOURS, type Palette } from "../../../theme/colours";
import { bytesOf, mixed, readableOn, type Rgb } from "../../../theme/rgb";
import type { Blocks } from "../data/blocks";
import { STRENGTHS, type Ink } from "./raster";

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
