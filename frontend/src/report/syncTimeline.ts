import type {
  LaneBlocks,
  Sync,
  TimelineLane,
  TimelineOverview,
  TimelineWindow,
} from "../api/schema";
import type { Span } from "../text/span";
import type { SyncRow } from "./syncs";

/** What is shown before and after a sync, as a share of its length. */
const AROUND = 0.25;

/** Rows of a host thread that are drawn: the call itself and the innermost of what is around it. */
const MOST_ROWS = 4;

/** Streams that are drawn; the rest are counted. */
const MOST_STREAMS = 4;

/** Part of the picture that sums may be off by. */
const ROUNDING = 1e-6;

/** Lanes of the timeline that a sync is seen in. */
export interface SyncTimelineLanes {
  host: readonly TimelineLane[];
  streams: readonly TimelineLane[];
  idle: readonly TimelineLane[];
}

/** A block of a track; `from` and `width` are fractions of the picture. */
export interface SyncTimelineBlock {
  readonly from: number;
  readonly width: number;
  readonly row: number;
  /** One of the timeline's words for colours. */
  readonly colour: string;
  readonly text: string;
  readonly count: number;
}

export interface SyncTimelineTrack {
  readonly title: string;
  readonly rows: number;
  readonly blocks: readonly SyncTimelineBlock[];
}

export interface SyncTimelinePart {
  readonly from: number;
  readonly width: number;
}

/** A sync and what host and device did around it. */
export interface SyncTimelineData {
  readonly span: Span;
  readonly host: SyncTimelineTrack | null;
  readonly streams: readonly SyncTimelineTrack[];
  /** Streams with work in this time that are not drawn. */
  readonly moreStreams: number;
  readonly sync: SyncTimelinePart;
  /** Where the device had nothing to do because of a sync. */
  readonly gaps: readonly SyncTimelinePart[];
  /** What the colours in it stand for, in the order of the timeline's words. */
  readonly colours: readonly string[];
}

/** The blocked thread, the streams of the device it waited for, and that device's idle time. */
export function syncTimelineLanes(timeline: TimelineOverview, sync: Sync): SyncTimelineLanes {
  const of = (kind: TimelineLane["kind"]): TimelineLane[] =>
    timeline.lanes.filter((lane) => lane.kind === kind);
  const device = sync.waited_for?.device_id ?? null;
  const ofDevice = (lane: TimelineLane): boolean => device === null || lane.device === device;
  return {
    host: of("host").filter((lane) => lane.thread_id === sync.thread_id),
    streams: of("device").filter(ofDevice),
    idle: of("idle").filter(ofDevice),
  };
}

export function laneIds(lanes: SyncTimelineLanes): string[] {
  return [...lanes.host, ...lanes.streams, ...lanes.idle].map(({ id }) => id);
}

/** What to look at: the sync, some time around it, and all of the idle time it caused. */
export function syncTimelineSpan({ start, sync }: SyncRow): Span {
  const around = Math.max(sync.duration_us * AROUND, 1);
  const idle = sync.device_idle_us ?? 0;
  const end = start + sync.duration_us;
  // The idle time begins no earlier than the sync and, at the latest, as it ends.
  return { from: start - around, to: end + around + Math.min(idle, sync.duration_us) };
}

/** The picture of a sync out of a window of the timeline. */
export function syncTimelineOf(
  row: SyncRow,
  timeline: TimelineOverview,
  lanes: SyncTimelineLanes,
  window: TimelineWindow,
): SyncTimelineData {
  const span = { from: window.start, to: window.end };
  const blocks = new Map(window.lanes.map((lane) => [lane.id, lane]));
  const draw = (lane: TimelineLane): Drawn => drawn(lane, blocks.get(lane.id), window, timeline);
  const busy = lanes.streams.map(draw).filter((track) => track.blocks.length > 0);
  const byWork = [...busy].sort((a, b) => covered(b) - covered(a));
  const busiest = new Set(byWork.slice(0, MOST_STREAMS));
  const host = hostTrack(lanes.host.map(draw), row, span);
  const streams = busy.filter((track) => busiest.has(track));
  return {
    span,
    host,
    streams,
    colours: coloursOf([...(host === null ? [] : [host]), ...streams], timeline),
    moreStreams: busy.length - busiest.size,
    sync: partOf(span, row.start, row.sync.duration_us),
    gaps: lanes.idle.flatMap((lane) => gapsOf(draw(lane), row, span)),
  };
}

type Drawn = SyncTimelineTrack;

function drawn(
  lane: TimelineLane,
  found: LaneBlocks | undefined,
  window: TimelineWindow,
  timeline: TimelineOverview,
): Drawn {
  const span = { from: window.start, to: window.end };
  const blocks = (found?.start ?? []).map((start, at): SyncTimelineBlock => {
    const name = found?.name[at] ?? -1;
    const count = found?.count[at] ?? 1;
    return {
      ...partOf(span, start, found?.duration[at] ?? 0),
      row: found?.depth[at] ?? 0,
      colour: timeline.colours[found?.colour[at] ?? -1] ?? "other",
      text: window.names[name] ?? `${count} events`,
      count,
    };
  });
  return { title: lane.subtitle, rows: 1 + Math.max(0, ...blocks.map(({ row }) => row)), blocks };
}

/** The thread on which the sync is, cut to the rows around it. */
function hostTrack(tracks: readonly Drawn[], row: SyncRow, span: Span): SyncTimelineTrack | null {
  const sync = partOf(span, row.start, row.sync.duration_us);
  const middle = sync.from + sync.width / 2;
  const depthOf = (track: Drawn): number | null => {
    const at = track.blocks.filter(
      ({ from, width, colour }) => colour === "wait" && from <= middle && middle <= from + width,
    );
    return at.length === 0 ? null : Math.max(...at.map((block) => block.row));
  };
  const track = tracks.find((each) => depthOf(each) !== null) ?? tracks[0];
  if (track === undefined) return null;
  const last = depthOf(track) ?? Math.min(track.rows, MOST_ROWS) - 1;
  const first = Math.max(0, last - MOST_ROWS + 1);
  return {
    title: track.title,
    rows: last - first + 1,
    blocks: track.blocks
      .filter((block) => block.row >= first && block.row <= last)
      .map((block) => ({ ...block, row: block.row - first })),
  };
}

/** Idle time of syncs from this one's start on, until it is all that this one caused. */
function gapsOf(track: Drawn, { start, sync }: SyncRow, span: Span): SyncTimelinePart[] {
  const idle = sync.device_idle_us ?? 0;
  const { from } = partOf(span, start, 0);
  let rest = idle / (span.to - span.from);
  const gaps: SyncTimelinePart[] = [];
  for (const block of track.blocks) {
    if (block.colour !== "wait" || block.from + block.width <= from) continue;
    if (rest <= ROUNDING) break;
    rest -= block.width;
    gaps.push({ from: block.from, width: block.width });
  }
  return gaps;
}

function coloursOf(tracks: readonly SyncTimelineTrack[], timeline: TimelineOverview): string[] {
  const present = new Set(tracks.flatMap(({ blocks }) => blocks.map(({ colour }) => colour)));
  return timeline.colours.filter((colour) => present.has(colour) && colour !== "wait");
}

/** A span of time as a part of the picture, cut at its edges. */
function partOf(span: Span, start: number, length: number): SyncTimelinePart {
  const whole = span.to - span.from;
  const from = clamp((start - span.from) / whole);
  return { from, width: clamp((start + length - span.from) / whole) - from };
}

function clamp(fraction: number): number {
  return Math.min(1, Math.max(0, fraction));
}

function covered(track: Drawn): number {
  return track.blocks.reduce((sum, { width }) => sum + width, 0);
}
