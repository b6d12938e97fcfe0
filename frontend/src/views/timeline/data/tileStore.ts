import type { ApiError } from "../../../api/request";
import type { WindowQuery } from "../../../api/client";
import type { TimelineWindow } from "../../../api/schema";
import type { Span } from "../../../text/span";
import { tileFrom, type Tile } from "./blocks";
import { keyText, tileSpan, type TileKey } from "./tiles";

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
