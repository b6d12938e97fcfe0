import { useMemo, type CSSProperties, type ReactElement } from "react";

import type { Target } from "../api/request";
import {
  laneIds,
  momentLanes,
  momentOf,
  momentSpan,
  type Moment,
  type MomentPart,
  type MomentTrack,
} from "../report/syncTimeline";
import { avoidable, type SyncRow } from "../report/syncs";
import { counted, duration, instant } from "../text/formats";
import { lengthOf } from "../text/span";
import { useLoad, useServices, type Loaded } from "./services";

interface MomentPictureProps {
  target: Target;
  row: SyncRow;
}

/** The moment of a wait: the host's thread above, the device's streams below, the gap marked. */
export function MomentPicture({ target, row }: MomentPictureProps): ReactElement {
  const moment = useMoment(target, row);
  if (moment.status === "error") {
    return <p className="muted">No picture of this moment: {moment.error.message}.</p>;
  }
  if (moment.value === null) {
    return <div className="moment waiting" role="status" aria-label="Loading the picture" />;
  }
  return <Picture moment={moment.value} row={row} faded={moment.status === "loading"} />;
}

interface PictureProps {
  moment: Moment;
  row: SyncRow;
  /** It is of the wait before: the new one is on its way. */
  faded: boolean;
}

function Picture({ moment, row, faded }: PictureProps): ReactElement {
  const { sync } = row;
  const calm = avoidable([sync]).length === 0;
  const idle = (sync.device_idle_us ?? 0) > 0 ? sync.device_idle_us : null;
  return (
    <figure
      className={["moment", ...(faded ? ["faded"] : []), ...(calm ? ["calm"] : [])].join(" ")}
    >
      <div className="moment-tracks" role="img" aria-label={said(moment, row)}>
        {moment.host !== null && (
          <Track title="host" track={moment.host} named>
            <Mark part={moment.wait} className="moment-wait">
              waits {duration(sync.duration_us)}
            </Mark>
          </Track>
        )}
        <div className="moment-device">
          {moment.streams.map((track) => (
            <Track key={track.title} title={track.title} track={track} />
          ))}
          {moment.streams.length === 0 && <Track title="device" track={EMPTY} />}
          <div className="moment-over" aria-hidden="true">
            {moment.gaps.map((gap) => (
              <Mark key={gap.from} part={gap} className="moment-gap" />
            ))}
          </div>
        </div>
        {idle !== null && <GapLabel moment={moment} text={`idle ${duration(idle)}`} />}
      </div>
      <figcaption className="muted">
        {moment.colours.map((colour) => (
          <span key={colour}>
            <span className={`swatch moment-key ${colour}`} aria-hidden="true" />
            {colour}
          </span>
        ))}
        <span>
          {duration(lengthOf(moment.span))} at {instant(moment.span.from)} of the trace
        </span>
        {moment.host !== null && (
          <span className="moment-thread" title={moment.host.title}>
            host: {moment.host.title}
          </span>
        )}
        {moment.moreStreams > 0 && (
          <span>{counted(moment.moreStreams, "more stream")} at work</span>
        )}
      </figcaption>
    </figure>
  );
}

const EMPTY: MomentTrack = { title: "device", rows: 1, blocks: [] };

/** Blocks of this share of the width have room for a name. */
const ROOM = 0.16;

interface TrackProps {
  title: string;
  track: MomentTrack;
  /** Pale, with names upon blocks that have room. */
  named?: boolean;
  children?: ReactElement;
}

function Track({ title, track, named = false, children }: TrackProps): ReactElement {
  return (
    <div className="moment-track" style={{ "--rows": track.rows } as CSSProperties}>
      <span className="moment-title" title={track.title}>
        {title}
      </span>
      <div className="moment-lane">
        {track.blocks.map((block, index) => (
          <span
            key={index}
            className={`moment-block ${block.colour} ${named ? "pale" : ""}`}
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
  part: MomentPart;
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
function GapLabel({ moment, text }: { moment: Moment; text: string }): ReactElement {
  const first = moment.gaps[0];
  const last = moment.gaps.at(-1);
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
    <div className="moment-idle">
      <span style={style}>{text}</span>
    </div>
  );
}

function across(part: MomentPart): CSSProperties {
  return { left: `${part.from * 100}%`, width: `${part.width * 100}%` };
}

function said(moment: Moment, { sync }: SyncRow): string {
  const streams = moment.streams.length;
  const device = `${streams} ${streams === 1 ? "stream" : "streams"} with work around it`;
  const idle =
    sync.device_idle_us === null
      ? ""
      : `, device idle because of it ${duration(sync.device_idle_us)}`;
  return `The host waits ${duration(sync.duration_us)}; ${device}${idle}.`;
}

/** Finer than the picture is wide, for screens with several dots to a pixel. */
const WIDTH = 640;

/** What host and device did around a wait, from the timeline of its trace. */
function useMoment(target: Target, row: SyncRow): Loaded<Moment> {
  const { api } = useServices();
  const { run, worker, trace } = target;
  const whole = useMemo((): Target => ({ run, worker, trace, step: null }), [run, worker, trace]);
  const loadTimeline = useMemo(
    () => (signal: AbortSignal) => api.timeline.overview(whole, signal),
    [api, whole],
  );
  const timeline = useLoad(loadTimeline);
  const overview = timeline.status === "ready" ? timeline.value : null;
  const loadMoment = useMemo(() => {
    if (overview === null) return null;
    const lanes = momentLanes(overview, row.sync);
    const query = { ...momentSpan(row), width: WIDTH, lanes: laneIds(lanes) };
    return async (signal: AbortSignal) =>
      momentOf(row, overview, lanes, await api.timeline.window(whole, query, signal));
  }, [api, whole, overview, row]);
  const moment = useLoad(loadMoment);
  if (timeline.status === "error") return { ...timeline };
  return moment;
}
