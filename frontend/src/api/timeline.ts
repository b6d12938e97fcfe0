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

/** One event, and where it is drawn. */
export interface WireSpot {
  id: number;
  lane: string;
  depth: number;
  name: string;
  colour: number;
  start: number;
  duration: number;
}

/** What an event has to do with another. */
export interface WireLink extends WireSpot {
  /** "launches", "launched by", "backward of", "forward of", "waits for", ... */
  relation: string;
}

/** One link of the chain that led to an event, the innermost first. */
export interface WireChainLink {
  /** "call", "operator", "node", "module", "line". */
  kind: string;
  text: string;
  /** null where it is no event. */
  id: number | null;
}

export interface WireEvent extends WireSpot {
  category: string;
  /** null where the event is on none; so all that follows. */
  thread: string | null;
  device: string | null;
  stream: string | null;
  step: string | null;
  phase: string | null;
  module: string | null;
  node: string | null;
  /** How the module is known, or why it is not. */
  evidence: string | null;
  no_module: string | null;
  /** Of host rows: less the rows inside. */
  self_us: number | null;
  /** Device work launched inside. */
  device_us: number | null;
  chain: WireChainLink[];
  links: WireLink[];
  /** Links that are too many to send. */
  links_omitted: number;
  /** null where the file cannot be read any more. */
  args: Record<string, unknown> | null;
}

export interface WireSearch {
  /** How many events fit; more than `hits` where there are too many to send. */
  total: number;
  /** By start. */
  hits: WireSpot[];
  /** How many begin in each of `width` equal parts of the trace. */
  density: number[];
}

/** What host and devices did in a span of the timeline. */
export interface WireStatistics {
  start: number;
  end: number;
  events: number;
  host_blocked_us: number;
  waits: number;
  /** Host time within steps by phase. */
  phases: Record<string, number>;
  devices: {
    id: string;
    name: string;
    busy_us: number;
    idle_us: number;
    /** Idle time by cause; sums to idle_us. */
    idle_by_cause: Record<string, number>;
  }[];
  /** The names that take most, by lane kind. */
  top: { kind: LaneKind; name: string; count: number; total_us: number; self_us: number | null }[];
}

/** What part of the timeline is asked for, and for how many pixels. */
export interface WindowQuery {
  from: number;
  to: number;
  width: number;
  /** Ids of the lanes that are wanted; all of them without. */
  lanes?: readonly string[];
}

export interface TimelineApi {
  readonly overview: (target: Target, signal: AbortSignal) => Promise<WireTimeline>;
  readonly window: (target: Target, query: WindowQuery, signal: AbortSignal) => Promise<WireWindow>;
  readonly event: (target: Target, id: string, signal: AbortSignal) => Promise<WireEvent>;
  /** Search the whole trace, or what begins at `from` and later. */
  readonly search: (
    target: Target,
    query: { text: string; from?: number },
    signal: AbortSignal,
  ) => Promise<WireSearch>;
  readonly statistics: (
    target: Target,
    span: { from: number; to: number },
    signal: AbortSignal,
  ) => Promise<WireStatistics>;
}

/** Later than all that is in a trace. */
const LATEST_US = 1e12;

export function createTimelineApi(base: URL): TimelineApi {
  const at = (path: string, target: Target, query: Record<string, string | number> = {}): URL => {
    const url = withTarget(new URL(`api/timeline${path}`, base), { ...target, step: null });
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, String(value));
    return url;
  };
  return {
    overview: (target, signal) => getJson(at("", target), signal),
    window: (target, { from, to, width, lanes }, signal) => {
      const wanted = lanes === undefined ? {} : { lanes: lanes.join(",") };
      return getJson(at("/window", target, { start: from, end: to, width, ...wanted }), signal);
    },
    event: (target, id, signal) => getJson(at("/event", target, { id }), signal),
    search: (target, { text, from }, signal) => {
      const window = from === undefined ? {} : { start: from, end: LATEST_US };
      return getJson(at("/search", target, { q: text, ...window }), signal);
    },
    statistics: (target, { from, to }, signal) =>
      getJson(at("/statistics", target, { start: from, end: to }), signal),
  };
}
