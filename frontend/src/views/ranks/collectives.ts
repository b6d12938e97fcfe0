/** Collectives as a histogram of times and as bandwidth against size. */

import type { CollectiveKind, CollectiveSize } from "../../api/schema";

export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly transfers: number;
  readonly waits: number;
}

/** Bins of one kind or of all, without the empty ones at either end. */
export function binsOf(
  kinds: readonly CollectiveKind[],
  edges: readonly number[],
  kind: string | null,
): Bin[] {
  const chosen = kinds.filter(({ name }) => kind === null || name === kind);
  const sum = (of: "transfers" | "waits", at: number): number =>
    chosen.reduce((total, row) => total + (row[of][at] ?? 0), 0);
  const bins = edges.slice(1).map((to, at) => ({
    from: edges[at] ?? 0,
    to,
    transfers: sum("transfers", at),
    waits: sum("waits", at),
  }));
  const filled = bins.flatMap((bin, at) => (bin.transfers + bin.waits > 0 ? [at] : []));
  return filled.length === 0 ? [] : bins.slice(filled[0], (filled.at(-1) ?? 0) + 1);
}

export interface LogAxis {
  /** Powers of ten. */
  readonly from: number;
  readonly to: number;
}

/** The decades that hold some values above 0. */
export function decades(values: readonly number[]): LogAxis {
  const powers = values.filter((value) => value > 0).map((value) => Math.log10(value));
  if (powers.length === 0) return { from: 0, to: 1 };
  const [from, to] = [Math.floor(Math.min(...powers)), Math.ceil(Math.max(...powers))];
  return from === to ? { from, to: to + 1 } : { from, to };
}

/** From the left or the bottom, 0 to 1. */
export function along(value: number, { from, to }: LogAxis): number {
  return Math.min(Math.max((Math.log10(value) - from) / (to - from), 0), 1);
}

export function sizesOf(sizes: readonly CollectiveSize[], kind: string | null): CollectiveSize[] {
  return sizes.filter(({ name }) => kind === null || name === kind);
}

/** What a kind is called. */
export function kindText(name: string): string {
  return name === "" ? "unknown" : name;
}
