import { useEffect, useMemo, useRef, useState, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { WireReport, WireTimeline, WireWindow } from "../../api/types";
import { Name } from "../../components/Name";
import { usePalette } from "../../components/palette";
import { useLoad, useServices, type Loaded } from "../../parts/services";
import { duration } from "../../text/formats";
import { lengthOf, type Span } from "../../text/span";
import type { WhatIfPlace } from "./address";
import { AXIS_PX, drawLanes, heightOf, LANE_PX } from "./lanesPicture";
import { asked } from "./question";

interface PredictedLanesProps {
  report: WireReport;
  target: Target;
  place: WhatIfPlace;
}

/** Pixels that are asked for; the picture is scaled to its place. */
const WIDTH = 1200;
/** At most as many times above the picture, at round ones. */
const TICKS = 8;
const NICE = [1, 2, 5, 10];
/** The closest look, in microseconds. */
const LEAST_US = 1;

/** Host and streams of the replayed steps, as recorded and below that as predicted. */
export function PredictedLanes({ report, target, place }: PredictedLanesProps): ReactElement {
  const { api } = useServices();
  const key = JSON.stringify([target, asked(place)]);
  const load = useMemo(() => {
    const [of, question] = JSON.parse(key) as [Target, WhatIfPlace];
    return (signal: AbortSignal) => api.whatIf.lanes(of, question, signal);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- another report is another trace
  }, [api, key, report]);
  const { value, status } = useLoad(load);
  const [chosen, setChosen] = useState<Span | null>(null);
  const bounds = useMemo(() => ({ from: 0, to: Math.max(value?.duration_us ?? 1, 1) }), [value]);
  const span = within(chosen ?? bounds, bounds);
  const view = `${span.from}..${span.to}`;
  const loadWindow = useMemo(() => {
    if (status !== "ready") return null;
    const [of, question] = JSON.parse(key) as [Target, WhatIfPlace];
    const [from = 0, to = 1] = view.split("..").map(Number);
    return (signal: AbortSignal) =>
      api.whatIf.window(of, question, { from, to, width: WIDTH }, signal);
  }, [api, key, view, status]);
  const shown = useLoad(loadWindow);
  return (
    <section className="facet whatif-lanes" aria-label="Recorded and predicted lanes">
      <header>
        <h2>
          When <span className="muted">as recorded, and below as predicted</span>
        </h2>
        <Movement span={span} bounds={bounds} onSpan={setChosen} />
      </header>
      {value !== null && <Lanes lanes={value} shown={shown} span={span} />}
      <p className="muted whatif-lanes-note">
        Both begin with the first replayed step. Between two of its moments (launches, syncs) a
        thread's own work is drawn first, then its wait for the device.
      </p>
    </section>
  );
}

function within({ from, to }: Span, bounds: Span): Span {
  const length = Math.min(Math.max(to - from, LEAST_US), lengthOf(bounds));
  const start = Math.min(Math.max(from, bounds.from), bounds.to - length);
  return { from: start, to: start + length };
}

interface MovementProps {
  span: Span;
  bounds: Span;
  onSpan: (span: Span | null) => void;
}

/** What of the steps is in view. */
function Movement({ span, bounds, onSpan }: MovementProps): ReactElement {
  const length = lengthOf(span);
  const zoomed = (factor: number) => () => {
    const [middle, half] = [(span.from + span.to) / 2, (length * factor) / 2];
    onSpan(within({ from: middle - half, to: middle + half }, bounds));
  };
  const moved = (share: number) => () => {
    onSpan(within({ from: span.from + share * length, to: span.to + share * length }, bounds));
  };
  const whole = length >= lengthOf(bounds);
  return (
    <div className="group">
      <span className="muted whatif-in-view">{duration(length)} in view</span>
      <button type="button" disabled={span.from <= bounds.from} onClick={moved(-0.5)}>
        Earlier
      </button>
      <button type="button" disabled={span.to >= bounds.to} onClick={moved(0.5)}>
        Later
      </button>
      <button type="button" onClick={zoomed(0.5)}>
        Zoom in
      </button>
      <button type="button" disabled={whole} onClick={zoomed(2)}>
        Zoom out
      </button>
      <button
        type="button"
        disabled={whole}
        onClick={() => {
          onSpan(null);
        }}
      >
        All steps
      </button>
    </div>
  );
}

interface LanesProps {
  lanes: WireTimeline;
  shown: Loaded<WireWindow>;
  span: Span;
}

function Lanes({ lanes: { lanes, colours }, shown, span }: LanesProps): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);
  const palette = usePalette();
  const { value } = shown;
  useEffect(() => {
    const { current } = canvas;
    if (current === null || value === null) return;
    const draw = (): void => {
      const [width, height, ratio] = [
        current.clientWidth,
        heightOf(lanes.length),
        window.devicePixelRatio,
      ];
      const context = current.getContext("2d", { alpha: false });
      if (context === null || width === 0) return;
      current.width = Math.round(width * ratio);
      current.height = Math.round(height * ratio);
      context.scale(ratio, ratio);
      drawLanes(context, width, {
        lanes,
        colours,
        shown: value,
        span,
        palette,
        ticks: ticks(span),
      });
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(current);
    return () => {
      observer.disconnect();
    };
  }, [lanes, colours, value, span, palette]);
  return (
    <div className="whatif-lanes-body" aria-busy={shown.status === "loading"}>
      <ul className="whatif-lane-labels" style={{ paddingBlockStart: AXIS_PX }} aria-label="Lanes">
        {lanes.map(({ id, group, title }) => (
          <li key={id} style={{ height: LANE_PX }}>
            <Name text={title} /> <span className="muted">{group.replace("as ", "")}</span>
          </li>
        ))}
      </ul>
      <canvas
        ref={canvas}
        role="img"
        style={{ height: heightOf(lanes.length) }}
        aria-label={textOf(lanes, value)}
      />
    </div>
  );
}

function ticks(span: Span): { at: number; text: string }[] {
  const least = lengthOf(span) / TICKS;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * (NICE.find((nice) => nice * power >= least) ?? 10);
  const first = Math.ceil(span.from / step);
  const count = Math.floor(span.to / step) - first + 1;
  return Array.from({ length: count }, (_, n) => {
    const at = (first + n) * step;
    return { at, text: at === 0 ? "0" : duration(at) };
  });
}

/** How long the steps in view take on either side, for those who do not see the picture. */
function textOf(lanes: WireTimeline["lanes"], shown: WireWindow | null): string {
  const said = lanes
    .filter(({ kind }) => kind === "steps")
    .map(({ id, group }) => {
      const blocks = shown?.lanes.find((one) => one.id === id);
      const us = blocks?.duration.reduce((sum, one) => sum + one, 0) ?? null;
      return `steps in view ${group} ${duration(us)}`;
    });
  return `${lanes.length} lanes: ${said.join(", ")}`;
}
