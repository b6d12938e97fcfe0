import type { ServerColumn } from "../../parts/serverTable/ServerTable";
import { MICROSECONDS } from "../../parts/serverTable/rows";
import { kindText } from "../../text/names";
import type { KernelGroup } from "./address";
import { KERNEL_DEFINITIONS as D, SEQUENCE_DEFINITIONS as S } from "./definitions";

export const KERNEL_TABLES: Readonly<Record<KernelGroup, string>> = {
  name: "kernels",
  launch: "kernels_by_launch",
  sequence: "kernel_sequences",
};

const OF_LAUNCH: ServerColumn[] = [
  { id: "operator", definition: D.operator, width: 150, yields: 15 },
  { id: "grid", definition: D.grid, width: 92, yields: 7 },
  { id: "block", definition: D.block, width: 80, yields: 6 },
];

const WORK: ServerColumn[] = [
  { id: "tflop_per_s", definition: D.rate, width: 74, yields: 11 },
  { id: "peak_share", definition: D.peak, width: 70, yields: 10 },
  { id: "module", definition: D.module, width: 140, yields: 3 },
  { id: "phase", definition: D.phase, width: 76, yields: 2 },
];

/** Takes replays, so that it comes after the others. */
export const GAIN = "gain_us_per_step";

const OF_SEQUENCE: ServerColumn[] = [
  { id: "name", definition: S.name, width: 0, kernel: true },
  { id: "kernels", definition: S.kernels, width: 76 },
  { id: "count", definition: S.count, width: 84 },
  { id: "total_us", definition: S.total, width: 84 },
  { id: "removable_us", definition: S.removable, width: 92 },
  { id: GAIN, definition: S.gain, width: 100 },
  { id: "module", definition: D.module, width: 140, yields: 2 },
  { id: "phase", definition: S.phase, width: 76, yields: 1 },
];

/** What the table is first sorted by, the most first. */
export function mostBy(group: KernelGroup): string {
  return group === "sequence" ? "removable_us" : "total_us";
}

/** Columns that are asked for first: all but the gain, if nothing is sorted by it. */
export function quickColumns(group: KernelGroup, sortedBy: string): string[] {
  if (group !== "sequence" || sortedBy === GAIN) return [];
  return ["id", ...OF_SEQUENCE.map(({ id }) => id).filter((id) => id !== GAIN)];
}

export function kernelColumns(group: KernelGroup): ServerColumn[] {
  if (group === "sequence") return OF_SEQUENCE;
  const launch = group === "launch";
  return [
    { id: "name", definition: D.name, width: 0, kernel: true },
    ...(launch ? OF_LAUNCH : []),
    { id: "kind", definition: D.kind, width: 112, yields: 8, write: kindText },
    { id: "count", definition: D.count, width: 60, yields: 14 },
    { id: "total_us", definition: D.total, width: 84 },
    { id: "mean_us", definition: D.mean, width: 84, scale: MICROSECONDS, yields: 13 },
    { id: "min_us", definition: D.least, width: 84, scale: MICROSECONDS, yields: 1 },
    { id: "max_us", definition: D.most, width: 84, scale: MICROSECONDS, yields: 5 },
    { id: "blocks_per_sm", definition: D.blocks, width: 84, yields: 4 },
    { id: "occupancy_pct", definition: D.occupancy, width: 84, yields: 9 },
    { id: "tensor_core", definition: D.tensorCore, width: 92, yields: 12 },
    ...(launch ? WORK : []),
  ];
}
