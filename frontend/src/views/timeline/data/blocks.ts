import type { TimelineWindow } from "../../../api/schema";
import { shortKernelName } from "../../../text/kernelName";
import { NAME_COLOURS } from "../../../theme/colours";

/** Blocks of one lane in columns, by depth, then by start; times in microseconds. */
export interface Blocks {
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Row of the tile's names, -1 where events of several names are merged. */
  readonly name: Int32Array;
  readonly colour: Uint8Array;
  /** Events in the block. */
  readonly count: Int32Array;
  /** The event, -1 for a merged block. */
  readonly event: Float64Array;
  /** First block of each depth, and after the last one the end. */
  readonly first: Int32Array;
}

export interface Curve {
  readonly start: Float64Array;
  readonly value: Float64Array;
}

/** What the server sent for a span of the timeline. */
export interface Tile {
  readonly names: readonly string[];
  readonly blocks: ReadonlyMap<string, Blocks>;
  readonly curves: ReadonlyMap<string, Curve>;
  /** How much it holds, for the cache. */
  readonly weight: number;
}

export function tileFrom(wire: TimelineWindow): Tile {
  const blocks = new Map<string, Blocks>();
  const curves = new Map<string, Curve>();
  let weight = wire.names.length;
  for (const lane of wire.lanes) {
    const start = new Float64Array(lane.start);
    const end = start.map((from, index) => from + (lane.duration[index] ?? 0));
    blocks.set(lane.id, {
      start,
      end,
      name: new Int32Array(lane.name),
      colour: new Uint8Array(lane.colour),
      count: new Int32Array(lane.count),
      event: new Float64Array(lane.event),
      first: firstOfDepths(lane.depth),
    });
    weight += start.length;
  }
  for (const { id, start, value } of wire.curves) {
    curves.set(id, { start: new Float64Array(start), value: new Float64Array(value) });
    weight += start.length;
  }
  return { names: wire.names, blocks, curves, weight };
}

function firstOfDepths(depth: readonly number[]): Int32Array {
  const rows = (depth.at(-1) ?? -1) + 1;
  const first = new Int32Array(rows + 1);
  for (let row = 0, at = 0; row <= rows; row++) {
    while (at < depth.length && (depth[at] ?? 0) < row) at++;
    first[row] = at;
  }
  return first;
}

/** First and last (exclusive) block of a row that touch a span of time. */
export function blocksWithin(
  blocks: Blocks,
  depth: number,
  from: number,
  to: number,
): [first: number, last: number] {
  const low = blocks.first[depth] ?? 0;
  const high = blocks.first[depth + 1] ?? low;
  const first = lowerBound(blocks.end, low, high, from);
  return [first, Math.max(first, lowerBound(blocks.start, low, high, to))];
}

/** The first place in [low, high) whose value is not below `wanted`; values ascend. */
export function lowerBound(
  values: Float64Array,
  low: number,
  high: number,
  wanted: number,
): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

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
