import type { LaneKind, WireLane } from "../../../api/types";

/** How much of a lane is open: its first row, some of its rows, or all of them. */
export type Opening = "folded" | "short" | "whole";

/** Where a lane is drawn; heights and places in CSS pixels from the top of all lanes. */
export interface LaneBox {
  readonly lane: WireLane;
  readonly opening: Opening;
  readonly top: number;
  readonly height: number;
  /** Rows on show, of `lane.depth`. */
  readonly rows: number;
  readonly rowHeight: number;
  /** Top of the first row. */
  readonly rowsTop: number;
}

/** Lanes of more rows are folded at first, and can be opened a part. */
const DEEP = 10;

/** Rows of a lane that is open a part. */
export const SHORT_ROWS = 8;

/** Room for the two lines of a label, and for a third where a lane can be folded. */
const LEAST_HEIGHT = 38;
const LEAST_FOLDABLE = 53;
const PADDING = 5;
const CURVE_HEIGHT = 46;
const ROW_HEIGHT: Readonly<Record<LaneKind, number>> = {
  steps: 19,
  forward: 18,
  backward: 18,
  host: 16,
  device: 20,
  idle: 16,
  queue: CURVE_HEIGHT - 2 * PADDING,
  annotations: 16,
};

/** The openings that a lane can have, in the order in which its button goes through them. */
export function openingsOf(lane: WireLane): readonly Opening[] {
  if (lane.depth > DEEP) return ["folded", "short", "whole"];
  return lane.depth > 1 ? ["whole", "folded"] : ["whole"];
}

export function openingOf(lane: WireLane, chosen: ReadonlyMap<string, Opening>): Opening {
  const possible = openingsOf(lane);
  const wanted = chosen.get(lane.id);
  return wanted !== undefined && possible.includes(wanted) ? wanted : (possible[0] ?? "whole");
}

export function nextOpening(lane: WireLane, now: Opening): Opening {
  const possible = openingsOf(lane);
  return possible[(possible.indexOf(now) + 1) % possible.length] ?? now;
}

/** All lanes one below the other, in their order. */
export function layoutLanes(
  lanes: readonly WireLane[],
  chosen: ReadonlyMap<string, Opening>,
): LaneBox[] {
  let top = 0;
  return lanes.map((lane) => {
    const opening = openingOf(lane, chosen);
    const rows = rowsOf(lane, opening);
    const rowHeight = ROW_HEIGHT[lane.kind];
    const least = openingsOf(lane).length > 1 ? LEAST_FOLDABLE : LEAST_HEIGHT;
    const height = Math.max(rows * rowHeight + 2 * PADDING, least);
    const box = { lane, opening, top, height, rows, rowHeight, rowsTop: top + PADDING };
    top += height;
    return box;
  });
}

function rowsOf(lane: WireLane, opening: Opening): number {
  const all = Math.max(lane.depth, 1);
  return { folded: 1, short: Math.min(SHORT_ROWS, all), whole: all }[opening];
}

export function heightOf(boxes: readonly LaneBox[]): number {
  const last = boxes.at(-1);
  return last === undefined ? 0 : last.top + last.height;
}

/** The lane at a height, and its row: -1 between rows. */
export function laneAt(
  boxes: readonly LaneBox[],
  y: number,
): { box: LaneBox; depth: number } | null {
  const box = boxes.find(({ top, height }) => y >= top && y < top + height);
  if (box === undefined) return null;
  const depth = Math.floor((y - box.rowsTop) / box.rowHeight);
  return { box, depth: depth < 0 || depth >= box.rows ? -1 : depth };
}

/** Top of a row; of a row that is not on show, bottom of those that are. */
export function rowTop(box: LaneBox, depth: number): number {
  return box.rowsTop + Math.min(depth, box.rows) * box.rowHeight;
}

/** The openings with which a row is on show; the same ones where it is already. */
export function opened(
  boxes: readonly LaneBox[],
  chosen: ReadonlyMap<string, Opening>,
  lane: string,
  depth: number,
): ReadonlyMap<string, Opening> {
  const box = boxes.find((one) => one.lane.id === lane);
  if (box === undefined || depth < box.rows) return chosen;
  const enough = openingsOf(box.lane).find((opening) => rowsOf(box.lane, opening) > depth);
  return new Map(chosen).set(lane, enough ?? "whole");
}
