import type { TimelineLane } from "../../../api/schema";
import type { LaneKind } from "../../../api/client";
import type { LanesPlace, Opening } from "../address";

/** Where a lane is drawn; heights and places in CSS pixels from the top of all lanes. */
export interface LaneBox {
  readonly lane: TimelineLane;
  readonly opening: Opening;
  /** Whether it stays on top while the others are scrolled. */
  readonly pinned: boolean;
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
  path: 16,
  forward: 18,
  backward: 18,
  host: 16,
  device: 20,
  idle: 16,
  queue: CURVE_HEIGHT - 2 * PADDING,
  memory: CURVE_HEIGHT - 2 * PADDING,
  annotations: 16,
};

/** Whether a lane is a number over time, and has no blocks. */
export function isCurve(lane: TimelineLane): boolean {
  return lane.kind === "queue" || lane.kind === "memory";
}

/** The openings that a lane can have, in the order in which its button goes through them. */
export function openingsOf(lane: TimelineLane): readonly Opening[] {
  if (lane.depth > DEEP) return ["folded", "short", "whole"];
  return lane.depth > 1 ? ["whole", "folded"] : ["whole"];
}

export function openingOf(lane: TimelineLane, chosen: ReadonlyMap<string, Opening>): Opening {
  const possible = openingsOf(lane);
  const wanted = chosen.get(lane.id) ?? (isMainThread(lane) ? "short" : undefined);
  return wanted !== undefined && possible.includes(wanted) ? wanted : (possible[0] ?? "whole");
}

/** Its operators, not its Python frames: the first that people look for. */
function isMainThread({ title, subtitle }: TimelineLane): boolean {
  return title === "main thread" && !subtitle.startsWith("Python stack");
}

export function nextOpening(lane: TimelineLane, now: Opening): Opening {
  const possible = openingsOf(lane);
  return possible[(possible.indexOf(now) + 1) % possible.length] ?? now;
}

/**
 * Lanes as the reader arranged them: pinned ones first, then those that fit the filter; what the
 * order does not know last.
 */
export function arrange(lanes: readonly TimelineLane[], place: LanesPlace): TimelineLane[] {
  const rank = new Map(place.order?.map((id, index) => [id, index]));
  const of = ({ id }: TimelineLane): number => rank.get(id) ?? rank.size;
  const sorted = [...lanes].sort((a, b) => of(a) - of(b));
  const pinned = new Set(place.pinned);
  const isPinned = ({ id }: TimelineLane): boolean => pinned.has(id);
  const wanted = place.filter.trim().toLowerCase();
  const fits = ({ group, title, subtitle }: TimelineLane): boolean =>
    [group, title, subtitle].some((text) => text.toLowerCase().includes(wanted));
  return [...sorted.filter(isPinned), ...sorted.filter((lane) => !isPinned(lane) && fits(lane))];
}

/** The order with a lane moved up (-1) or down (1) by one among those pinned as it is. */
export function moved(boxes: readonly LaneBox[], id: string, by: 1 | -1): readonly string[] {
  const ids = boxes.map(({ lane }) => lane.id);
  const at = ids.indexOf(id);
  const other = boxes[at + by];
  if (other === undefined || other.pinned !== boxes[at]?.pinned) return ids;
  [ids[at], ids[at + by]] = [other.lane.id, id];
  return ids;
}

/** The boxes where a scrolled chart shows them: pinned ones move along. */
export function scrolled(boxes: readonly LaneBox[], scroll: number): readonly LaneBox[] {
  if (boxes[0]?.pinned !== true) return boxes;
  return boxes.map((box) =>
    box.pinned ? { ...box, top: box.top + scroll, rowsTop: box.rowsTop + scroll } : box,
  );
}

/** Height of the pinned lanes, which cover what is scrolled under them. */
export function pinnedHeight(boxes: readonly LaneBox[]): number {
  return heightOf(boxes.filter(({ pinned }) => pinned));
}

/** All lanes one below the other, as they are arranged. */
export function layoutLanes(lanes: readonly TimelineLane[], place: LanesPlace): LaneBox[] {
  let top = 0;
  return arrange(lanes, place).map((lane) => {
    const opening = openingOf(lane, place.openings);
    const pinned = place.pinned.includes(lane.id);
    const rows = rowsOf(lane, opening);
    const rowHeight = ROW_HEIGHT[lane.kind];
    const least = openingsOf(lane).length > 1 ? LEAST_FOLDABLE : LEAST_HEIGHT;
    const height = Math.max(rows * rowHeight + 2 * PADDING, least);
    const box = { lane, opening, pinned, top, height, rows, rowHeight, rowsTop: top + PADDING };
    top += height;
    return box;
  });
}

function rowsOf(lane: TimelineLane, opening: Opening): number {
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
