import { useState, type PointerEvent, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { MemoryCurve, MemoryPeak, ReportData } from "../../api/schema";
import { bytes, duration } from "../../text/formats";
import { colourOf, MEMORY_COLOURS, PHASE_COLOURS } from "../../theme/colours";
import { BlockAreas, BlockNote } from "./BlockAreas";
import type { Block } from "./blockStack";
import { areas as classAreas, fractionOf, highestOf, levelAt, line, SIDE } from "./curve";
import { Readout } from "./Readout";
import { ByteLines, ByteTicks, TimeTicks } from "./Ticks";
import { useWindow, type Window } from "./useWindow";

export interface CurveProps {
  curve: MemoryCurve;
  peak: MemoryPeak | null;
  report: ReportData;
  target: Target;
  /** The largest blocks, where they are drawn one by one; null before they are there. */
  blocks: readonly Block[] | null | undefined;
}

const HEIGHT = 220;
const BAND = 10;
/** A shorter drag is a click. */
const LEAST = 0.005;

/** Bytes in use over time, stacked by class or block; a drag zooms in. */
export function Curve({ curve, peak, report, target, blocks }: CurveProps): ReactElement {
  const highest = highestOf(curve);
  const [at, setAt] = useState<number | null>(null);
  const [from, setFrom] = useState<number | null>(null);
  const window_ = useWindow(curve, report);
  const index = at === null ? null : levelAt(curve, at);
  const [pointed, setPointed] = useState<Block | null>(null);
  const [held, setHeld] = useState<Block | null>(null);
  const areas = blocks ? (
    <BlockAreas {...{ blocks, curve, highest, chosen: held ?? pointed, onPoint: setPointed }} />
  ) : (
    <ClassAreas curve={curve} highest={highest} />
  );
  return (
    <section className="memory-curve" aria-label="Memory over time">
      <Scale curve={curve} highest={highest} report={report} window_={window_} />
      <div className="memory-plot">
        <ByteTicks highest={highest} />
        <svg
          className="memory-chart"
          viewBox={`0 0 ${SIDE} ${SIDE}`}
          preserveAspectRatio="none"
          width="100%"
          height={HEIGHT}
          role="img"
          tabIndex={0}
          aria-label={`Bytes in use over time, up to ${bytes(highest)}. Plus and minus zoom, arrows move, Home shows all.`}
          onKeyDown={window_.onKey}
          onPointerDown={(event) => {
            setFrom(fraction(event));
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            setAt(fraction(event));
          }}
          onPointerLeave={() => {
            setAt(null);
          }}
          onPointerUp={(event) => {
            const to = fraction(event);
            if (from !== null && Math.abs(to - from) > LEAST) window_.zoom(from, to);
            else setHeld(pointed === held ? null : pointed);
            setFrom(null);
          }}
        >
          {areas}
          <ByteLines highest={highest} />
          {curve.reserved_bytes !== null && (
            <path className="memory-reserved" d={line(curve, curve.reserved_bytes, highest)} />
          )}
          {curve.steps.map((step) => (
            <Mark
              key={step.start_us}
              at={fractionOf(curve, step.start_us)}
              className="memory-step"
            />
          ))}
          {peak !== null && <Mark at={fractionOf(curve, peak.time_us)} className="memory-peak" />}
          <Drag from={from} to={at} />
        </svg>
      </div>
      <Bands curve={curve} />
      <TimeTicks curve={curve} begin={report.trace.start_us} />
      <Readout curve={curve} index={index} peak={peak} />
      {blocks !== undefined && (
        <BlockNote block={held ?? pointed} held={held !== null} report={report} target={target} />
      )}
    </section>
  );
}

function ClassAreas({ curve, highest }: { curve: MemoryCurve; highest: number }): ReactElement {
  return (
    <>
      {classAreas(curve, highest).map(({ key, path }) => (
        <path
          key={key}
          className="memory-area"
          d={path}
          style={{ color: colourOf(MEMORY_COLOURS[key]) }}
        />
      ))}
    </>
  );
}

interface ScaleProps extends Pick<CurveProps, "curve" | "report"> {
  highest: number;
  window_: Window;
}

/** What height and width of the chart stand for. */
function Scale({ curve, highest, report, window_ }: ScaleProps): ReactElement {
  return (
    <div className="memory-scale muted">
      <span>up to {bytes(highest)}</span>
      <span>
        {duration(curve.start_us - report.trace.start_us)} to{" "}
        {duration(curve.end_us - report.trace.start_us)}
        {curve.exact ? "" : ", highest and lowest of each part"}
      </span>
      {window_.whole ? null : (
        <button type="button" className="link" onClick={window_.reset}>
          Whole trace
        </button>
      )}
    </div>
  );
}

function Drag({ from, to }: { from: number | null; to: number | null }): ReactElement | null {
  if (from === null || to === null) return null;
  const [x, width] = [Math.min(from, to) * SIDE, Math.abs(to - from) * SIDE];
  return <rect className="memory-drag" x={x} width={width} height={SIDE} />;
}

function Mark({ at, className }: { at: number; className: string }): ReactElement | null {
  if (at < 0 || at > 1) return null;
  return <line className={className} x1={at * SIDE} x2={at * SIDE} y1={0} y2={SIDE} />;
}

/** Phases of the host, below the curve. */
function Bands({ curve }: { curve: MemoryCurve }): ReactElement {
  return (
    <svg width="100%" height={BAND} aria-hidden="true">
      {curve.phases.map(({ name, start_us, end_us }, index) => {
        const start = fractionOf(curve, start_us);
        const colour = name in PHASE_COLOURS ? (name as keyof typeof PHASE_COLOURS) : "other";
        return (
          <rect
            key={index}
            x={`${start * 100}%`}
            width={`${Math.max(fractionOf(curve, end_us) - start, 0.0005) * 100}%`}
            height={BAND}
            style={{ fill: colourOf(PHASE_COLOURS[colour]) }}
          >
            <title>{name}</title>
          </rect>
        );
      })}
    </svg>
  );
}

function fraction(event: PointerEvent<SVGSVGElement>): number {
  const box = event.currentTarget.getBoundingClientRect();
  return Math.min(Math.max((event.clientX - box.left) / Math.max(box.width, 1), 0), 1);
}
