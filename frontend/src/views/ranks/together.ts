/** Where things are in the picture of one collective on several ranks; shares of its width. */

import type { ActivitySpan, CollectiveRanks, RankActivity, RankPart } from "../../api/schema";
import { pathText } from "../../text/names";

/** From the left, 0 to 1. */
export interface Part {
  readonly from: number;
  readonly width: number;
}

/** The late module stands out among the others. */
export type BlockKind = ActivitySpan["kind"] | "late";

export interface Block extends Part {
  readonly kind: BlockKind;
  readonly text: string;
}

export interface Row {
  readonly rank: number;
  readonly late: boolean;
  readonly waitUs: number;
  /** When it came, after the first that is shown. */
  readonly cameUs: number;
  readonly wait: Part;
  readonly transfer: Part;
}

export interface Lane {
  readonly name: string;
  readonly blocks: readonly Block[];
}

type Shown = Pick<CollectiveRanks, "length_us" | "transfer_us" | "clock_spread_us" | "ranks">;

/** A row for each rank, in their order. */
export function rowsTogether(shown: Shown): Row[] {
  const first = firstArrival(shown.ranks);
  return shown.ranks.map(({ rank, late, start_us, wait_us }) => ({
    rank,
    late,
    waitUs: wait_us,
    cameUs: start_us - first,
    wait: partOf(start_us, wait_us, shown.length_us),
    transfer: partOf(start_us + wait_us, shown.transfer_us, shown.length_us),
  }));
}

/** What a rank ran, with the module that made the late one late. */
export function lanesOf(
  { lanes }: Pick<RankActivity, "lanes">,
  lengthUs: number,
  lateModule: string | null,
): Lane[] {
  return lanes.map(({ name, spans }) => ({
    name,
    blocks: spans.map((span) => ({
      ...partOf(span.start_us, span.duration_us, lengthUs),
      kind: span.module !== null && span.module === lateModule ? "late" : span.kind,
      text: span.module === null ? BLOCK_TEXTS[span.kind] : pathText(span.module),
    })),
  }));
}

/** The lanes of all ranks, but for those (of the device) in which none of them ran anything. */
export function usedLanes(ranks: readonly (readonly Lane[])[]): Lane[][] {
  const used = new Set(
    ranks
      .flatMap((lanes) => lanes.filter(({ blocks }) => blocks.length > 0))
      .map(({ name }) => name),
  );
  return ranks.map((lanes) => lanes.filter(({ name }) => used.has(name)));
}

/** What each colour stands for. */
export const BLOCK_TEXTS: Readonly<Record<BlockKind, string>> = {
  late: "the straggler's module",
  module: "other modules",
  data: "data loader",
  optimizer: "optimizer",
  sync: "waits for its device",
  ranks: "waits for other ranks",
  other: "anything else",
};

/** Kinds that occur, in the order of the legend. */
export function kindsOf(lanes: readonly Lane[]): BlockKind[] {
  const found = new Set(lanes.flatMap(({ blocks }) => blocks.map(({ kind }) => kind)));
  return (Object.keys(BLOCK_TEXTS) as BlockKind[]).filter((kind) => found.has(kind));
}

/** How far the clocks are known, around the moment when the straggler came; null without one. */
export function doubtOf(shown: Shown): Part | null {
  const late = shown.ranks.find((rank) => rank.late);
  if (late === undefined || shown.clock_spread_us === null) return null;
  const { start_us: came } = late;
  return partOf(came - shown.clock_spread_us, 2 * shown.clock_spread_us, shown.length_us);
}

const STEPS = [1, 2, 5, 10];
const MOST_TICKS = 6;

/** Round times after the first arrival, with their places. */
export function ticksTogether(shown: Shown): { us: number; at: number }[] {
  const first = firstArrival(shown.ranks);
  const least = shown.length_us / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * (STEPS.find((each) => each * power >= least) ?? 10);
  const from = Math.ceil(-first / step);
  const to = Math.floor((shown.length_us - first) / step);
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => {
    const us = (from + index) * step;
    return { us, at: (us + first) / shown.length_us };
  });
}

function firstArrival(ranks: readonly RankPart[]): number {
  return Math.min(...ranks.map(({ start_us }) => start_us));
}

/** The part of a time that is in sight. */
function partOf(startUs: number, durationUs: number, lengthUs: number): Part {
  const from = Math.min(Math.max(startUs / lengthUs, 0), 1);
  const to = Math.min(Math.max((startUs + durationUs) / lengthUs, from), 1);
  return { from, width: to - from };
}
