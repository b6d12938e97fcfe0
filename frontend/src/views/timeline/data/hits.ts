import { blocksWithin, type Blocks, type Tile } from "./blocks";
import { laneAt, type LaneBox } from "./lanes";
import type { Span } from "../../../text/span";
import type { Piece } from "./tiles";

/** A block that is drawn: an event, or several in one. */
export interface Block {
  readonly lane: string;
  readonly depth: number;
  readonly span: Span;
  /** null where events of several names are merged. */
  readonly name: string | null;
  readonly colour: number;
  readonly count: number;
  /** null where events are merged. */
  readonly event: number | null;
}

export function blockOf(tile: Tile, lane: string, depth: number, index: number): Block | null {
  const blocks = tile.blocks.get(lane);
  if (blocks === undefined || index >= blocks.start.length) return null;
  const event = blocks.event[index] ?? -1;
  return {
    lane,
    depth,
    span: { from: blocks.start[index] ?? 0, to: blocks.end[index] ?? 0 },
    name: tile.names[blocks.name[index] ?? -1] ?? null,
    colour: blocks.colour[index] ?? 0,
    count: blocks.count[index] ?? 1,
    event: event < 0 ? null : event,
  };
}

export function sameBlock(a: Block, b: Block): boolean {
  return (
    a.lane === b.lane &&
    a.depth === b.depth &&
    a.span.from === b.span.from &&
    a.span.to === b.span.to &&
    a.count === b.count
  );
}

/** The block at a time and height; `slack` is how far (in microseconds) one may miss it. */
export function blockAt(
  pieces: readonly Piece<Tile>[],
  boxes: readonly LaneBox[],
  time: number,
  y: number,
  slack: number,
): Block | null {
  const place = laneAt(boxes, y);
  if (place === null || place.depth < 0) return null;
  const { id } = place.box.lane;
  for (const { tile, clip } of pieces) {
    if (time + slack < clip.from || time - slack >= clip.to) continue;
    const blocks = tile.blocks.get(id);
    if (blocks === undefined) continue;
    const index = nearest(blocks, place.depth, time, slack);
    if (index !== null) return blockOf(tile, id, place.depth, index);
  }
  return null;
}

function nearest(blocks: Blocks, depth: number, time: number, slack: number): number | null {
  const [first, last] = blocksWithin(blocks, depth, time - slack, time + slack);
  let best: number | null = null;
  let least = Infinity;
  for (let index = first; index < last; index++) {
    const distance = Math.max(
      (blocks.start[index] ?? 0) - time,
      time - (blocks.end[index] ?? 0),
      0,
    );
    if (distance < least) [best, least] = [index, distance];
  }
  return least <= slack ? best : null;
}

export type Direction = "previous" | "next" | "above" | "below";

/**
 * The event next to another: before or after it in its row, or in the row above or below it at its
 * middle. Merged blocks are passed over; null without one among what is drawn.
 */
export function eventNextTo(
  pieces: readonly Piece<Tile>[],
  boxes: readonly LaneBox[],
  from: Pick<Block, "lane" | "depth" | "span">,
  direction: Direction,
): Block | null {
  if (direction === "previous" || direction === "next") {
    const row = eventsOf(pieces, from.lane, from.depth);
    return direction === "next"
      ? (row.find(({ span }) => span.from > from.span.from) ?? null)
      : (row.findLast(({ span }) => span.from < from.span.from) ?? null);
  }
  const middle = (from.span.from + from.span.to) / 2;
  for (const { lane, depth } of rowsFrom(boxes, from, direction === "below" ? 1 : -1)) {
    const found = nearestOf(eventsOf(pieces, lane, depth), middle);
    if (found !== null) return found;
  }
  return null;
}

/** All rows on show on one side of a row, the nearest first. */
function rowsFrom(
  boxes: readonly LaneBox[],
  from: { lane: string; depth: number },
  step: 1 | -1,
): { lane: string; depth: number }[] {
  const all = boxes.flatMap(({ lane, rows }) =>
    Array.from({ length: rows }, (_, depth) => ({ lane: lane.id, depth })),
  );
  const at = all.findIndex(({ lane, depth }) => lane === from.lane && depth === from.depth);
  return step === 1 ? all.slice(at + 1) : all.slice(0, Math.max(at, 0)).reverse();
}

/** The single events of a row as far as they are drawn, each once, by start. */
function eventsOf(pieces: readonly Piece<Tile>[], lane: string, depth: number): Block[] {
  const found = new Map<number, Block>();
  for (const { tile, clip } of pieces) {
    const blocks = tile.blocks.get(lane);
    if (blocks === undefined) continue;
    const [first, last] = blocksWithin(blocks, depth, clip.from, clip.to);
    for (let index = first; index < last; index++) {
      const block = blockOf(tile, lane, depth, index);
      if (block?.event != null) found.set(block.event, block);
    }
  }
  return [...found.values()];
}

function nearestOf(events: readonly Block[], time: number): Block | null {
  const distance = ({ span }: Block): number => Math.max(span.from - time, time - span.to, 0);
  return events.reduce<Block | null>(
    (best, one) => (best === null || distance(one) < distance(best) ? one : best),
    null,
  );
}
