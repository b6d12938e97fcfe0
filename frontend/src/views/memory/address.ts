/** What an address says of the memory; the window is that of the timeline. */

export const MEMORY_TABLES = ["peak", "activations", "blocks", "operators"] as const;
export type MemoryTable = (typeof MEMORY_TABLES)[number];

export interface MemoryPlace {
  /** As `torch.device` spells it; null the one that matters most. */
  readonly device: string | null;
  readonly table: MemoryTable;
  /** Class of the blocks that are listed; null all. */
  readonly kind: string | null;
  /** Blocks before the first that is listed. */
  readonly offset: number;
}

export const NO_MEMORY: MemoryPlace = { device: null, table: "peak", kind: null, offset: 0 };

export function memoryToQuery(place: MemoryPlace, query: URLSearchParams): void {
  if (place.device !== null) query.set("device", place.device);
  if (place.table !== NO_MEMORY.table) query.set("list", place.table);
  if (place.kind !== null) query.set("class", place.kind);
  if (place.offset > 0) query.set("offset", String(place.offset));
}

export function memoryFromQuery(query: URLSearchParams): MemoryPlace {
  const offset = Number(query.get("offset") ?? 0);
  return {
    device: query.get("device"),
    table: MEMORY_TABLES.find((name) => name === query.get("list")) ?? NO_MEMORY.table,
    kind: query.get("class"),
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  };
}
