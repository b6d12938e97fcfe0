/** Steps of two traces as rows of lanes, one below the other on one axis of time. */

import { useMemo } from "react";

import type { CompareSide } from "../../api/client";
import type { Target } from "../../api/request";
import type {
  Comparison,
  LaneBlocks,
  Pair,
  ReportData,
  Step,
  TimelineLane,
  TimelineOverview,
  TimelineWindow,
} from "../../api/schema";
import { type Loaded, useLoad, useServices } from "../../parts/services";
import { averagedSteps } from "../../report/measures";
import { pathText } from "../../text/names";
import { type Span, timeText } from "../../text/span";
import { targetOf } from "./sides";

export const SIDES = ["base", "other"] as const;
export type SideName = (typeof SIDES)[number];

/** A step on the clock of its timeline, in microseconds. */
export interface AlignedStep {
  readonly name: string | null;
  readonly from: number;
  readonly length: number;
}

/** The step of median length among those compared; the whole trace where it has no steps. */
export function medianStep(report: ReportData, compared: readonly string[]): AlignedStep {
  const named = report.steps.filter(({ name }) => compared.includes(name));
  const steps = named.length > 0 ? named : averagedSteps(report.steps);
  const sorted = [...steps].sort((a, b) => a.duration_us - b.duration_us);
  const median: Step | undefined = sorted[Math.floor((sorted.length - 1) / 2)];
  if (median === undefined) return { name: null, from: 0, length: report.trace.duration_us };
  const { name, start_us, duration_us } = median;
  return { name, from: start_us - report.trace.start_us, length: duration_us };
}

/** What a row of the picture shows, above the same of the other side. */
type RowKind = "phases" | "forward" | "backward" | "host" | "device" | "idle";

/** Rows of each kind that are drawn at most. */
const MOST_ROWS: Readonly<Record<RowKind, number>> = {
  ...{ phases: 1, forward: 4, backward: 4, host: 3, device: 2, idle: 1 },
};

export const ROW_TITLES: Readonly<Record<RowKind, string>> = {
  phases: "phases",
  forward: "modules, forward",
  backward: "modules, backward",
  host: "host",
  device: "device",
  idle: "device idle, by cause",
};

/** A row of one side: a depth of one of its lanes. */
export interface AlignedRow {
  readonly kind: RowKind;
  readonly side: SideName;
  /** Place among the rows of its kind and side. */
  readonly place: number;
  readonly lane: string;
  readonly depth: number;
}

/** Kinds of lanes that the picture takes of a timeline. */
const WANTED = new Set<TimelineLane["kind"]>(["steps", "forward", "backward", "device", "idle"]);

/** Whether a timeline has neither modules nor a device: its host has to do. */
export function onlyHost(lanes: readonly TimelineLane[]): boolean {
  return lanes.every(({ kind }) => kind !== "device" && kind !== "forward" && kind !== "backward");
}

/** The lanes that are drawn of a timeline; with the busiest thread of the host where asked for. */
export function lanesOf(lanes: readonly TimelineLane[], withHost: boolean): TimelineLane[] {
  const threads = lanes.filter(({ kind, thread }) => kind === "host" && thread !== null);
  const [busiest] = threads.sort((a, b) => (b.events ?? 0) - (a.events ?? 0));
  return lanes.filter((lane) => WANTED.has(lane.kind) || (withHost && lane === busiest));
}

/** A side's lanes, the blocks in them, and when its step ends on their clock. */
export interface SideLanes {
  readonly lanes: readonly TimelineLane[];
  readonly blocks: readonly LaneBlocks[];
  readonly end: number;
}

/** Rows of both sides by kind, the base's above the other's; as many of a kind on both. */
export function alignedRows(sides: Readonly<Record<SideName, SideLanes>>): AlignedRow[] {
  const kinds = Object.keys(MOST_ROWS) as RowKind[];
  return kinds.flatMap((kind) => {
    const found = { base: busiest(kind, sides.base), other: busiest(kind, sides.other) };
    const depths = kind === "device" ? [0] : depthsOf(kind, sides, found);
    return SIDES.flatMap((side) =>
      found[side]
        .flatMap(({ id }) => depths.map((depth) => ({ lane: id, depth })))
        .map((row, place): AlignedRow => ({ kind, side, place, ...row })),
    );
  });
}

/** The busiest lanes of a kind, streams or one thread. */
function busiest(kind: RowKind, { lanes, blocks }: SideLanes): LaneBlocks[] {
  const ids = new Set(
    lanes.filter((lane) => lane.kind === (kind === "phases" ? "steps" : kind)).map(({ id }) => id),
  );
  return blocks
    .filter(({ id, start }) => ids.has(id) && start.length > 0)
    .sort((a, b) => covered(b) - covered(a))
    .slice(0, kind === "device" ? MOST_ROWS.device : 1);
}

/** Depths from the first on at which a step holds more than one block: what is around all of it says nothing. */
function depthsOf(
  kind: RowKind,
  sides: Readonly<Record<SideName, SideLanes>>,
  found: Readonly<Record<SideName, readonly LaneBlocks[]>>,
): number[] {
  if (kind === "phases") return [1];
  const counts = SIDES.flatMap((side) =>
    found[side].map(({ depth, start }) => {
      const of: number[] = [];
      depth.forEach((at, index) => {
        if ((start[index] ?? 0) < sides[side].end) of[at] = (of[at] ?? 0) + 1;
      });
      return of;
    }),
  );
  const deepest = Math.max(0, ...counts.map(({ length }) => length));
  const all = Array.from({ length: deepest }, (_, depth) => depth);
  const first = all.findIndex((depth) => counts.some((of) => (of[depth] ?? 0) > 1));
  return all.slice(Math.max(first, 0)).slice(0, MOST_ROWS[kind]);
}

function covered({ duration, depth }: LaneBlocks): number {
  return duration.reduce((sum, us, at) => sum + (depth[at] === 0 ? us : 0), 0);
}

/** What one side shows in a row at a time. */
export interface BlockAt {
  readonly name: string | null;
  readonly events: number;
  readonly from: number;
  readonly length: number;
}

/** The block of a depth that a time lies in, the shortest where there are several. */
export function blockAt(
  blocks: LaneBlocks,
  names: readonly string[],
  depth: number,
  us: number,
): BlockAt | null {
  let found = -1;
  blocks.start.forEach((start, at) => {
    const length = blocks.duration[at] ?? 0;
    if (blocks.depth[at] !== depth || start > us || start + length < us) return;
    if (found < 0 || length < (blocks.duration[found] ?? 0)) found = at;
  });
  if (found < 0) return null;
  return {
    name: names[blocks.name[found] ?? -1] ?? null,
    events: blocks.count[found] ?? 1,
    from: blocks.start[found] ?? 0,
    length: blocks.duration[found] ?? 0,
  };
}

/** Less of a step than this is no difference to point at. */
const LEAST_SHARE = 0.01;

/** A module of one side that takes another time than on the other side. */
export interface Differing {
  /** Of its row in the comparison; null for one that has only modules below it that differ. */
  readonly row: string | null;
  /** With those below it, microseconds per step: of its time, or of what the host waited in it. */
  readonly change: number;
}

/** Modules that differ by 1% of the step, with those below them, by their names on a side. */
export function differing(comparison: Comparison, side: SideName): Map<string, Differing> {
  const all = new Map<string, Differing>();
  for (const module of comparison.modules) {
    const path = module[`${side}_path`];
    if (path === null || module.status === "same" || module.status === "unknown") continue;
    const time = changeIn(module.forward_us) + changeIn(module.backward_us);
    const blocked = changeIn(module.sync_blocked_us);
    const change = Math.abs(blocked) > Math.abs(time) ? blocked : time;
    const parts = path.split(".");
    parts.forEach((_, at) => {
      const name = pathText(parts.slice(0, at + 1).join("."));
      const before = all.get(name);
      const own = at === parts.length - 1 ? module.id : (before?.row ?? null);
      all.set(name, { row: own, change: (before?.change ?? 0) + change });
    });
  }
  const step = Math.max(comparison.step_us.base ?? 0, comparison.step_us.other ?? 0);
  return new Map([...all].filter(([, { change }]) => Math.abs(change) >= LEAST_SHARE * step));
}

function changeIn({ base, other }: Pair): number {
  return (other ?? 0) - (base ?? 0);
}

/** Pixels that are asked for; the picture is scaled to its place. */
const WIDTH = 1200;

/** What a side of the picture is drawn from. */
interface AlignedSide {
  readonly timeline: TimelineOverview;
  readonly window: TimelineWindow;
}
export type AlignedSides = Readonly<Record<SideName, AlignedSide>>;

interface Asked {
  readonly side: CompareSide;
  readonly step: AlignedStep;
}

/** Both sides' lanes between two times after the starts of their steps. */
export function useAligned(base: Asked | null, other: Asked, span: Span): Loaded<AlignedSides> {
  const { api } = useServices();
  const key = JSON.stringify([base === null ? null : targetOf(base.side), targetOf(other.side)]);
  const loadBoth = useMemo(() => {
    const [before, after] = JSON.parse(key) as [Target | null, Target];
    if (before === null) return null;
    return (signal: AbortSignal) =>
      Promise.all([api.timeline.overview(before, signal), api.timeline.overview(after, signal)]);
  }, [api, key]);
  const overviews = useLoad(loadBoth);
  const ready = overviews.status === "ready" ? overviews.value : null;
  const from = timeText(span.from);
  const to = timeText(span.to);
  const starts = `${base?.step.from ?? 0} ${other.step.from}`;
  const load = useMemo(() => {
    if (ready === null) return null;
    const targets = JSON.parse(key) as [Target, Target];
    const withHost = ready.every(({ lanes }) => onlyHost(lanes));
    const at = starts.split(" ").map(Number);
    return async (signal: AbortSignal): Promise<AlignedSides> => {
      const windows = ready.map((timeline, index) => {
        const target = targets[index] ?? targets[0];
        const start = at[index] ?? 0;
        const lanes = lanesOf(timeline.lanes, withHost).map(({ id }) => id);
        const part = { from: start + Number(from), to: start + Number(to) };
        return api.timeline.window(target, { ...part, width: WIDTH, lanes }, signal);
      });
      const [first, second] = (await Promise.all(windows)) as [TimelineWindow, TimelineWindow];
      return {
        base: { timeline: ready[0], window: first },
        other: { timeline: ready[1], window: second },
      };
    };
  }, [api, key, ready, starts, from, to]);
  const loaded = useLoad(load);
  return overviews.status === "error" ? { ...overviews } : loaded;
}
