import { bytesOf, packed, readableOn, shadesOf, unpacked } from "./shades";
import type { Ink } from "./raster";
import type { Palette } from "../../../theme/colours";

/** How each of the server's colours looks; one it does not know of looks like idle time. */
export function coloursOf(meanings: readonly string[], palette: Palette): string[] {
  const known = new Map<string, string>([
    ["forward", palette.forward],
    ["backward", palette.backward],
    ["optimizer", palette.optimizer],
    ["data", palette.data],
    ["other", palette.other],
    ["wait", palette.wait],
    ["communication", palette.communication],
  ]);
  return meanings.map((meaning) => known.get(meaning) ?? palette.idle);
}

/** Blocks have the colour of their text by their own, so they can be deeper than elsewhere. */
const DEEPEST = 86;

export function inkOf(meanings: readonly string[], palette: Palette): Ink {
  const { surface, shadeLeast, shadeMost } = palette;
  return {
    ground: packed(bytesOf(surface)),
    shades: coloursOf(meanings, palette).map((colour, index) =>
      // A wait is never pale: its text is of a colour that needs the full one.
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
