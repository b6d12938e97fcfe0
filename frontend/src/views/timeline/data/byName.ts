import { shortKernelName } from "../../../text/kernelName";
import { NAME_COLOURS } from "../../../theme/colours";
import type { Blocks, Tile } from "./blocks";

const coloured = new WeakMap<Blocks, Blocks>();

/** Blocks with the colours of their names, which come after `first` others; merged ones as before. */
export function colouredByName(tile: Tile, blocks: Blocks, first: number): Blocks {
  const known = coloured.get(blocks);
  if (known !== undefined) return known;
  const hues = tile.names.map(
    (name) => first + (hashOf(shortKernelName(name)) % NAME_COLOURS.length),
  );
  const colour = blocks.colour.map((before, index) => hues[blocks.name[index] ?? -1] ?? before);
  const result = { ...blocks, colour };
  coloured.set(blocks, result);
  return result;
}

/** The same for the same text, whatever the trace (FNV-1a). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash;
}
