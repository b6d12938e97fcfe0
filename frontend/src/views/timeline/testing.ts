import type { LaneBlocks, TimelineLane, TimelineWindow } from "../../api/schema";

/** One block of a window, in a form that can be written down. */
export interface Drawn {
  start: number;
  duration: number;
  depth: number;
  name: string;
  colour?: number;
  count?: number;
  event?: number;
}

/** A window as the server sends it; blocks by depth, then by start. */
export function windowOf(lanes: Record<string, Drawn[]>): TimelineWindow {
  const names: string[] = [];
  const blocks = Object.entries(lanes).map(([id, drawn]): LaneBlocks => ({
    id,
    start: drawn.map((one) => one.start),
    duration: drawn.map((one) => one.duration),
    depth: drawn.map((one) => one.depth),
    name: drawn.map((one) => names.push(one.name) - 1),
    colour: drawn.map((one) => one.colour ?? 0),
    count: drawn.map((one) => one.count ?? 1),
    event: drawn.map((one, index) => one.event ?? index),
  }));
  return { start: 0, end: 100, width: 100, names, lanes: blocks, curves: [] };
}

export function laneOf(id: string, change: Partial<TimelineLane> = {}): TimelineLane {
  return {
    id,
    group: "Host",
    title: id,
    subtitle: "",
    kind: "host",
    depth: 3,
    events: 9,
    thread: null,
    thread_id: null,
    device: null,
    stream: null,
    stream_id: null,
    note: null,
    ...change,
  };
}
