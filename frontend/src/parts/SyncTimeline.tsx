import { useMemo, type CSSProperties, type ReactElement } from "react";

import type { Target } from "../api/request";
import type { ReportData } from "../api/schema";
import { meanStep } from "../report/measures";
import {
  laneIds,
  syncTimelineLanes,
  syncTimelineOf,
  syncTimelineSpan,
  type SyncTimelineData,
  type SyncTimelinePart,
  type SyncTimelineTrack,
} from "../report/syncTimeline";
import { avoidable, isHighlighted, lostIn, type SyncRow } from "../report/syncs";
import { counted, duration, instant } from "../text/formats";
import { lengthOf } from "../text/span";
import { useLoad, useServices, type Loaded } from "./services";

interface SyncTimelineProps {
  report: ReportData;
  target: Target;
  row: SyncRow;
}

/** The moment of a sync: the host's thread above, the device's streams below, the gap marked. */
export function SyncTimeline({ report, target, row }: SyncTimelineProps): ReactElement {
  const loaded = useSyncTimeline(target, row);
  if (loaded.status === "error") {
    return <p className="muted">No timeline of this sync: {loaded.error.message}.</p>;
  }
  if (loaded.value === null) {
    return (
      <div
        className="sync-timeline waiting"
        role="status"
        aria-label="Loading the timeline of the sync"
      />
    );
  }
  return (
    <Picture
      data={loaded.value}
      row={row}
      stepUs={meanStep(report)}
      faded={loaded.status === "loading"}
    />
  );
}

interface PictureProps {
  data: SyncTimelineData;
  row: SyncRow;
  stepUs: number;
  /** It is of the sync before: the new one is on its way. */
  faded: boolean;
}

function Picture({ data, row, stepUs, faded }: PictureProps): ReactElement {
  const { sync } = row;
  const lost = lostIn(sync.duration_us, sync.device_idle_us);
  const calm = avoidable([sync]).length === 0 || !isHighlighted(lost, stepUs);
  const idle = (sync.device_idle_us ?? 0) > 0 ? sync.device_idle_us : null;
  return (
    <figure
      className={["sync-timeline", ...(faded ? ["faded"] : []), ...(calm ? ["calm"] : [])].join(
        " ",
      )}
    >
      <div className="sync-timeline-tracks" role="img" aria-label={said(data, row)}>
        {data.host !== null && (
          <Track title="host" track={data.host} named>
            <Mark part={data.sync} className="sync-timeline-sync">
              sync {duration(sync.duration_us)}
            </Mark>
          </Track>
        )}
        <div className="sync-timeline-device">
          {data.streams.map((track) => (
            <Track key={track.title} title={track.title} track={track} />
          ))}
          {data.streams.length === 0 && <Track title="device" track={EMPTY} />}
          <div className="sync-timeline-over" aria-hidden="true">
            {data.gaps.map((gap) => (
              <Mark key={gap.from} part={gap} className="sync-timeline-gap" />
            ))}
          </div>
        </div>
        {idle !== null && <GapLabel data={data} text={`idle ${duration(idle)}`} />}
      </div>
      <figcaption className="muted">
        {data.colours.map((colour) => (
          <span key={colour}>
            <span className={`swatch sync-timeline-key ${colour}`} aria-hidden="true" />
            {colour}
          </span>
        ))}
        <span>
          {duration(lengthOf(data.span))} at {instant(data.span.from)} of the trace
        </span>
        {data.host !== null && (
          <span className="sync-timeline-thread" title={data.host.title}>
            host: {data.host.title}
          </span>
        )}
        {data.moreStreams > 0 && <span>{counted(data.moreStreams, "more stream")} at work</span>}
      </figcaption>
    </figure>
  );
}

const EMPTY: SyncTimelineTrack = { title: "device", rows: 1, blocks: [] };

/** Blocks of this share of the width have room for a name. */
const ROOM = 0.16;

interface TrackProps {
  title: string;
  track: SyncTimelineTrack;
  /** Pale, with names upon blocks that have room. */
  named?: boolean;
  children?: ReactElement;
}

function Track({ title, track, named = false, children }: TrackProps): ReactElement {
  return (
    <div className="sync-timeline-track" style={{ "--rows": track.rows } as CSSProperties}>
      <span className="sync-timeline-title" title={track.title}>
        {title}
      </span>
      <div className="sync-timeline-lane">
        {track.blocks.map((block, index) => (
          <span
            key={index}
            className={`sync-timeline-block ${block.colour} ${named ? "pale" : ""}`}
            style={{ ...across(block), "--row": block.row } as CSSProperties}
            title={block.count > 1 ? `${block.text} (${block.count})` : block.text}
          >
            {named && block.width >= ROOM && block.colour !== "wait" && <bdi>{block.text}</bdi>}
          </span>
        ))}
        {children}
      </div>
    </div>
  );
}

interface MarkProps {
  part: SyncTimelinePart;
  className: string;
  children?: React.ReactNode;
}

function Mark({ part, className, children }: MarkProps): ReactElement {
  return (
    <span className={className} style={across(part)}>
      {children}
    </span>
  );
}

/** Below the gap, on whichever side of it there is room. */
function GapLabel({ data, text }: { data: SyncTimelineData; text: string }): ReactElement {
  const first = data.gaps[0];
  const last = data.gaps.at(-1);
  const middle =
    first === undefined || last === undefined ? 0.5 : (first.from + last.from + last.width) / 2;
  const style =
    middle < 0.5
      ? { marginInlineStart: `${(first?.from ?? 0) * 100}%` }
      : {
          marginInlineStart: "auto",
          marginInlineEnd: `${(1 - (last?.from ?? 1) - (last?.width ?? 0)) * 100}%`,
        };
  return (
    <div className="sync-timeline-idle">
      <span style={style}>{text}</span>
    </div>
  );
}

function across(part: SyncTimelinePart): CSSProperties {
  return { left: `${part.from * 100}%`, width: `${part.width * 100}%` };
}

function said(data: SyncTimelineData, { sync }: SyncRow): string {
  const streams = data.streams.length;
  const device = `${streams} ${streams === 1 ? "stream" : "streams"} with work around it`;
  const idle =
    sync.device_idle_us === null
      ? ""
      : `, device idle because of it ${duration(sync.device_idle_us)}`;
  return `The host is blocked for ${duration(sync.duration_us)}; ${device}${idle}.`;
}

/** Finer than the picture is wide, for screens with several dots to a pixel. */
const WIDTH = 640;

/** What host and device did around a sync, from the timeline of its trace. */
function useSyncTimeline(target: Target, row: SyncRow): Loaded<SyncTimelineData> {
  const { api } = useServices();
  const { run, worker, trace } = target;
  const whole = useMemo((): Target => ({ run, worker, trace, step: null }), [run, worker, trace]);
  const loadTimeline = useMemo(
    () => (signal: AbortSignal) => api.timeline.overview(whole, signal),
    [api, whole],
  );
  const timeline = useLoad(loadTimeline);
  const overview = timeline.status === "ready" ? timeline.value : null;
  const load = useMemo(() => {
    if (overview === null) return null;
    const lanes = syncTimelineLanes(overview, row.sync);
    const query = { ...syncTimelineSpan(row), width: WIDTH, lanes: laneIds(lanes) };
    return async (signal: AbortSignal) =>
      syncTimelineOf(row, overview, lanes, await api.timeline.window(whole, query, signal));
  }, [api, whole, overview, row]);
  const loaded = useLoad(load);
  if (timeline.status === "error") return { ...timeline };
  return loaded;
}
