import { getJson, withTarget, type Target } from "./request";
import type { WireEvent, WireSearch, WireStatistics, WireTimeline, WireWindow } from "./types";

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
