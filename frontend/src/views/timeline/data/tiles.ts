import type { WindowQuery } from "../../../api/client";
import type { ApiError } from "../../../api/request";
import type { TimelineWindow } from "../../../api/schema";
import { lengthOf, type Span } from "../../../text/span";
import { type Tile, tileFrom } from "./blocks";

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

/** Blocks that are cached; about 50 bytes each. */
const MOST_BLOCKS = 1_500_000;

/** Requests at a time. */
const AT_ONCE = 2;

/** After a failure a tile is asked for again, but not at once. */
const RETRY_MS = 3000;

/** Widths are rounded up to this many pixels, so that a resized window needs no new tiles. */
const WIDTH_STEP = 256;

type Ask = (query: WindowQuery, signal: AbortSignal) => Promise<TimelineWindow>;

interface Held {
  tile: Tile;
  width: number;
}

/** The tiles that were fetched, and those on their way. */
export class TileStore {
  private readonly held = new LruCache<Held>(MOST_BLOCKS);
  private readonly asked = new Map<string, AbortController>();
  private readonly failed = new Map<string, number>();
  private wanted: readonly TileKey[] = [];
  private width = 0;
  private retry = 0;
  private failure: ApiError | null = null;

  constructor(
    private readonly ask: Ask,
    private readonly bounds: Span,
    private readonly onChange: () => void,
  ) {}

  readonly find = (key: TileKey): Tile | undefined => this.held.use(keyText(key))?.tile;

  /** Why what is missing does not come; null where it does. */
  get error(): ApiError | null {
    return this.failure;
  }

  /** Whether something that is wanted is on its way. */
  get busy(): boolean {
    return this.asked.size > 0;
  }

  /** What is needed now, the most urgent first; requests for anything else are given up. */
  want(keys: readonly TileKey[], width: number): void {
    this.wanted = keys;
    this.width = Math.ceil(width / WIDTH_STEP) * WIDTH_STEP;
    const texts = new Set(keys.map(keyText));
    for (const [text, controller] of this.asked) {
      if (!texts.has(text)) {
        controller.abort();
        this.asked.delete(text);
      }
    }
    this.next();
  }

  close(): void {
    window.clearTimeout(this.retry);
    this.wanted = [];
    for (const controller of this.asked.values()) controller.abort();
    this.asked.clear();
  }

  private next(): void {
    for (const key of this.wanted) {
      if (this.asked.size >= AT_ONCE) return;
      if (this.isMissing(keyText(key))) this.fetch(key);
    }
  }

  private isMissing(text: string): boolean {
    if (this.asked.has(text)) return false;
    if (performance.now() < (this.failed.get(text) ?? 0)) return false;
    return (this.held.use(text)?.width ?? 0) < this.width;
  }

  private fetch(key: TileKey): void {
    const text = keyText(key);
    const { width } = this;
    const controller = new AbortController();
    this.asked.set(text, controller);
    this.ask({ ...tileSpan(key, this.bounds), width }, controller.signal).then(
      (wire) => {
        if (controller.signal.aborted) return;
        const tile = tileFrom(wire);
        this.held.put(text, { tile, width }, tile.weight);
        this.failure = null;
        this.settle(text);
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        this.failure = error as ApiError;
        this.failed.set(text, performance.now() + RETRY_MS);
        this.retry = window.setTimeout(() => this.next(), RETRY_MS + 50);
        this.settle(text);
      },
    );
  }

  private settle(text: string): void {
    this.asked.delete(text);
    this.next();
    this.onChange();
  }
}

/** Holds what was used last, up to a total weight; the newest stays whatever it weighs. */
export class LruCache<T> {
  private readonly held = new Map<string, { value: T; weight: number }>();
  private total = 0;

  constructor(private readonly most: number) {}

  get weight(): number {
    return this.total;
  }

  has(key: string): boolean {
    return this.held.has(key);
  }

  /** The value, which thereby is the one used last. */
  use(key: string): T | undefined {
    const found = this.held.get(key);
    if (found === undefined) return undefined;
    this.held.delete(key);
    this.held.set(key, found);
    return found.value;
  }

  put(key: string, value: T, weight: number): void {
    this.drop(key);
    this.held.set(key, { value, weight });
    this.total += weight;
    for (const oldest of this.held.keys()) {
      if (this.total <= this.most || oldest === key) break;
      this.drop(oldest);
    }
  }

  private drop(key: string): void {
    const found = this.held.get(key);
    if (found === undefined) return;
    this.held.delete(key);
    this.total -= found.weight;
  }
}
