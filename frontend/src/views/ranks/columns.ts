import { numberOf, type TableRow } from "../../parts/serverTable/rows";
import type { ServerColumn } from "../../parts/serverTable/ServerTable";
import { colourOf } from "../../theme/colours";
import { fileName } from "../../text/names";
import { COLLECTIVE_DEFINITIONS as C, RANK_DEFINITIONS as D } from "./definitions";

/** Of a step of a rank, drawn as one bar. */
export const PARTS = [
  { id: "compute_us", title: D.compute.title, colour: colourOf("busy") },
  { id: "exposed_communication_us", title: D.exposed.title, colour: colourOf("communication") },
  { id: "idle_us", title: D.idle.title, colour: colourOf("idle") },
];

const RANK_COLUMNS: readonly ServerColumn[] = [
  { id: "rank", definition: D.rank, width: 60 },
  { id: "path", definition: D.path, width: 0, write: fileName, yields: 1 },
  { id: "steps", definition: D.steps, width: 60, yields: 2 },
  { id: "step_us", definition: D.step, width: 170, parts: PARTS },
  { id: "compute_us", definition: D.compute, width: 88, yields: 3 },
  { id: "communication_us", definition: D.communication, width: 116, yields: 5 },
  { id: "exposed_communication_us", definition: D.exposed, width: 88, yields: 6 },
  { id: "idle_us", definition: D.idle, width: 88, yields: 4 },
  { id: "wait_us", definition: D.wait, width: 112 },
];

/** Columns of ranks whose traces mark steps; else each trace is one, and its length not of a step. */
export function meanColumns(marked: boolean): readonly ServerColumn[] {
  if (marked) return RANK_COLUMNS;
  return RANK_COLUMNS.filter(({ id }) => id !== "steps").map((column) =>
    column.id === "step_us" ? { ...column, definition: D.length } : column,
  );
}

/** The same, the rank and its step in the colour of what deserves a look where it is a straggler. */
export function rankColumns(
  stragglers: readonly { rank: number }[],
  marked: boolean,
): ServerColumn[] {
  const late = new Set(stragglers.map(({ rank }) => rank));
  const look = (row: TableRow): boolean => late.has(numberOf(row, "rank") ?? -1);
  return meanColumns(marked).map((column) =>
    column.id === "rank" || column.id === "step_us" ? { ...column, look } : column,
  );
}

export const STEP_COLUMNS: readonly ServerColumn[] = [
  { id: "duration_us", definition: D.duration, width: 88 },
  { id: "compute_us", definition: D.compute, width: 88 },
  { id: "communication_us", definition: D.communication, width: 88 },
  { id: "exposed_communication_us", definition: D.exposed, width: 88 },
  { id: "idle_us", definition: D.idle, width: 88 },
  { id: "wait_us", definition: D.wait, width: 88 },
];

export const COLLECTIVE_COLUMNS: readonly ServerColumn[] = [
  { id: "name", definition: C.name, width: 130 },
  { id: "step", definition: C.step, width: 126, yields: 2 },
  { id: "group", definition: C.group, width: 120, yields: 1 },
  { id: "ranks", definition: C.ranks, width: 60, yields: 3 },
  { id: "bytes", definition: C.bytes, width: 84, yields: 6 },
  { id: "transfer_us", definition: C.transfer, width: 88, yields: 7 },
  { id: "wait_us", definition: C.wait, width: 88, yields: 9 },
  { id: "new_wait_us", definition: C.newWait, width: 88 },
  { id: "bus_gb_per_s", definition: C.bandwidth, width: 70, yields: 5 },
  { id: "late_rank", definition: C.lateRank, width: 76 },
  { id: "late_module", definition: C.lateModule, width: 0, yields: 8 },
  { id: "late_reason", definition: C.lateReason, width: 76, yields: 4 },
];

/** What the panel says of a collective in addition. */
export const COLLECTIVE_FACTS: readonly ServerColumn[] = [
  ...COLLECTIVE_COLUMNS.filter(({ id }) => id !== "late_module" && id !== "late_reason"),
  { id: "sequence", definition: C.sequence, width: 60 },
  { id: "late_module", definition: C.lateModule, width: 60 },
  { id: "late_reason", definition: C.lateReason, width: 60 },
  { id: "late_by_us", definition: C.lateBy, width: 60 },
];
