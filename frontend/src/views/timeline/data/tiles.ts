import { lengthOf, type Span } from "../../../text/span";

/**
 * The trace in tiles. At level n the bounds are cut into 2^n tiles of equal length, so a tile is
 * the two below it. A view is drawn from the level whose tiles are at most as long as what is in
 * view, and more than half as long: two or three of them.
 */
export interface TileKey {
  readonly level: number;
  readonly index: number;
}

/** A tile to draw, and the time for which it stands. */
export interface Piece<T> {
  readonly tile: T;
  readonly clip: Span;
}

/** How far below a missing tile to look for parts of it. */
const DEPTH = 3;

export function keyText({ level, index }: TileKey): string {
  return `${level}/${index}`;
}

export function tileSpan({ level, index }: TileKey, bounds: Span): Span {
  const length = lengthOf(bounds) / 2 ** level;
  return { from: bounds.from + index * length, to: bounds.from + (index + 1) * length };
}

export function levelFor(span: Span, bounds: Span): number {
  return Math.max(0, Math.ceil(Math.log2(lengthOf(bounds) / lengthOf(span)) - 1e-9));
}

/** The tiles in view, from left to right. */
export function tilesInView(span: Span, bounds: Span): TileKey[] {
  const level = levelFor(span, bounds);
  const length = lengthOf(bounds) / 2 ** level;
  const place = (time: number): number => (time - bounds.from) / length;
  const first = clampIndex(Math.floor(place(span.from) + 1e-9), level);
  const last = clampIndex(Math.ceil(place(span.to) - 1e-9) - 1, level);
  return Array.from({ length: last - first + 1 }, (_, n) => ({ level, index: first + n }));
}

/**
 * What to fetch, in this order: the whole trace, which stands in for all that is missing; what is
 * in view; what is around it.
 */
export function tilesWanted(span: Span, bounds: Span): TileKey[] {
  const inView = tilesInView(span, bounds);
  const [first] = inView;
  const last = inView.at(-1);
  const around = [
    { level: first?.level ?? 0, index: (last?.index ?? 0) + 1 },
    { level: first?.level ?? 0, index: (first?.index ?? 0) - 1 },
  ].filter(({ level, index }) => index === clampIndex(index, level));
  const whole = first?.level === 0 ? [] : [{ level: 0, index: 0 }];
  return [...whole, ...inView, ...around];
}

/**
 * What to draw for the tiles in view: each, or the parts of it that are there, or what is there of
 * a larger tile. The pieces do not overlap; nothing known, no piece.
 */
export function piecesFor<T>(
  wanted: readonly TileKey[],
  bounds: Span,
  find: (key: TileKey) => T | undefined,
): Piece<T>[] {
  return wanted.flatMap((key) => cover(key, bounds, find, DEPTH));
}

function cover<T>(
  key: TileKey,
  bounds: Span,
  find: (key: TileKey) => T | undefined,
  depth: number,
): Piece<T>[] {
  const tile = find(key);
  const clip = tileSpan(key, bounds);
  if (tile !== undefined) return [{ tile, clip }];
  if (hasParts(key, find, depth)) {
    return halves(key).flatMap((half) => cover(half, bounds, find, depth - 1));
  }
  const larger = nearestAbove(key, find);
  return larger === undefined ? [] : [{ tile: larger, clip }];
}

function hasParts(key: TileKey, find: (key: TileKey) => unknown, depth: number): boolean {
  if (depth === 0) return false;
  return halves(key).some((half) => find(half) !== undefined || hasParts(half, find, depth - 1));
}

function nearestAbove<T>(key: TileKey, find: (key: TileKey) => T | undefined): T | undefined {
  for (let { level, index } = key; level > 0;) {
    level -= 1;
    index = Math.floor(index / 2);
    const tile = find({ level, index });
    if (tile !== undefined) return tile;
  }
  return undefined;
}

function halves({ level, index }: TileKey): [TileKey, TileKey] {
  return [
    { level: level + 1, index: 2 * index },
    { level: level + 1, index: 2 * index + 1 },
  ];
}

function clampIndex(index: number, level: number): number {
  return Math.min(Math.max(index, 0), 2 ** level - 1);
}
