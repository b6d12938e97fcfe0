import { getJson, withTarget, type Target } from "./request";

/** The timeline as the server sends it: microseconds since the start of the trace. */

export type LaneKind =
  "steps" | "forward" | "backward" | "host" | "device" | "idle" | "queue" | "annotations";

export interface WireLane {
  id: string;
  group: string;
  title: string;
  subtitle: string;
  kind: LaneKind;
  /** Rows that nest, 1 for none. */
  depth: number;
  events: number;
}

export interface WireTimeline {
  start_us: number;
  duration_us: number;
  events: number;
  lanes: WireLane[];
  minimap: { start: number[]; duration: number[]; colour: number[] };
  /** What the colours of blocks mean. */
  colours: string[];
}

/** Blocks of one lane, by depth, then by start. */
export interface WireBlocks {
  id: string;
  start: number[];
  duration: number[];
  depth: number[];
  /** Row of the window's names, -1 where events of several names are merged. */
  name: number[];
  colour: number[];
  /** Events in the block. */
  count: number[];
  /** The event, -1 for a merged block. */
  event: number[];
}

export interface WireCurve {
  id: string;
  start: number[];
  value: number[];
}

export interface WireWindow {
  start: number;
  end: number;
  names: string[];
  lanes: WireBlocks[];
  curves: WireCurve[];
}

/** What part of the timeline is asked for, and for how many pixels. */
export interface WindowQuery {
  from: number;
  to: number;
  width: number;
}

export interface TimelineApi {
  readonly overview: (target: Target, signal: AbortSignal) => Promise<WireTimeline>;
  readonly window: (
    target: Target,
    query: WindowQuery,
    signal: AbortSignal,
  ) => Promise<WireWindow>;
}

export function createTimelineApi(base: URL): TimelineApi {
  const at = (path: string, target: Target, query: Record<string, string | number> = {}): URL => {
    const url = withTarget(new URL(`api/timeline${path}`, base), { ...target, step: null });
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, String(value));
    return url;
  };
  return {
    overview: (target, signal) => getJson(at("", target), signal),
    window: (target, { from, to, width }, signal) =>
      getJson(at("/window", target, { start: from, end: to, width }), signal),
  };
}
