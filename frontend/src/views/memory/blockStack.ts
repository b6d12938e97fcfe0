/** Blocks of memory one upon another over time, as polygons in a chart's fractions. */

import type { MemoryCurve, TablePage } from "../../api/schema";
import { numberOf, rowsOf } from "../../parts/serverTable/rows";
import { fractionOf, MEMORY_CLASSES, round, SIDE, type MemoryClass } from "./curve";

/** A block for as long as it is in use; times on the trace's own clock, null outside of the recording. */
export interface Block {
  readonly id: number;
  readonly bytes: number;
  readonly from: number | null;
  readonly to: number | null;
  readonly kind: MemoryClass;
  readonly operator: string | null;
  readonly operatorId: number | null;
  readonly module: string | null;
}

/** The columns that `blocksOf` reads. */
export const BLOCK_COLUMNS = [
  "bytes",
  "allocated_us",
  "freed_us",
  "memory_class",
  "operator",
  "operator_id",
  "module",
] as const;

export function blocksOf(page: TablePage): Block[] {
  const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
  return rowsOf(page).map((row) => ({
    id: numberOf(row, "id") ?? -1,
    bytes: numberOf(row, "bytes") ?? 0,
    from: numberOf(row, "allocated_us"),
    to: numberOf(row, "freed_us"),
    kind: MEMORY_CLASSES.find((kind) => kind === row.memory_class) ?? "unknown",
    operator: text(row.operator),
    operatorId: numberOf(row, "operator_id"),
    module: text(row.module),
  }));
}

/** When a block, or the top of the stack, gets to a height in bytes. */
type Level = readonly [us: number, bytes: number];

interface Stacked {
  readonly block: Block;
  readonly levels: readonly Level[];
  readonly end: number;
}

interface Stack {
  readonly stacked: readonly Stacked[];
  /** Height of the whole stack. */
  readonly top: readonly Level[];
}

/**
 * Each block lies upon those that were in use when it was allocated, and comes down when one below
 * it is freed. Those of the beginning lie by class, the ones that live longest lowest.
 */
export function stackBlocks(blocks: readonly Block[], start: number, end: number): Stack {
  const spans = blocks
    .map((block) => ({ block, from: Math.max(block.from ?? start, start), to: block.to ?? end }))
    .filter(({ from, to }) => from < end && to > start)
    .sort((a, b) => a.from - b.from || rank(a.block) - rank(b.block) || b.to - a.to);
  const levels = spans.map((): Level[] => []);
  const changes = spans
    .flatMap(({ from, to }, index) => [
      { at: from, index, frees: false },
      ...(to < end ? [{ at: to, index, frees: true }] : []),
    ])
    .sort((a, b) => a.at - b.at || Number(b.frees) - Number(a.frees) || a.index - b.index);
  const live: { index: number; bytes: number; bottom: number }[] = [];
  const top: Level[] = [[start, 0]];
  let height = 0;
  for (const { at, index, frees } of changes) {
    const bytes = spans[index]?.block.bytes ?? 0;
    if (frees) {
      const place = live.findIndex((one) => one.index === index);
      live.splice(place, 1);
      for (const above of live.slice(place)) {
        above.bottom -= bytes;
        levels[above.index]?.push([at, above.bottom]);
      }
    } else {
      live.push({ index, bytes, bottom: height });
      levels[index]?.push([at, height]);
    }
    height += frees ? -bytes : bytes;
    top.push([at, height]);
  }
  return {
    stacked: spans.map(({ block, to }, index) => ({
      block,
      levels: levels[index] ?? [],
      end: Math.min(to, end),
    })),
    top,
  };
}

function rank({ from, kind }: Block): number {
  return from === null ? MEMORY_CLASSES.indexOf(kind) : MEMORY_CLASSES.length;
}

/** What is in use at each time of a curve besides the blocks of a stack. */
export function restOf(curve: MemoryCurve, top: readonly Level[]): number[] {
  let at = 0;
  return curve.time_us.map((us, index) => {
    while ((top[at + 1]?.[0] ?? Infinity) <= us) at += 1;
    return Math.max((curve.allocated_bytes[index] ?? 0) - (top[at]?.[1] ?? 0), 0);
  });
}

/** The SVG path of a block that lies upon `base` bytes. */
export function polygon(
  { block, levels, end }: Stacked,
  curve: MemoryCurve,
  base: number,
  highest: number,
): string {
  const x = (us: number): number => round(Math.min(Math.max(fractionOf(curve, us), 0), 1) * SIDE);
  const y = (bytes: number): number => round(SIDE - ((base + bytes) / highest) * SIDE);
  const edge = (more: number): string[] =>
    levels.flatMap(([us, bottom], index) => {
      const until = levels[index + 1]?.[0] ?? end;
      return [`${x(us)} ${y(bottom + more)}`, `${x(until)} ${y(bottom + more)}`];
    });
  return `M${[...edge(block.bytes), ...edge(0).reverse()].join("L")}Z`;
}
