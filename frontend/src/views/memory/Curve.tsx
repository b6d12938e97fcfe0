import { useState, type KeyboardEvent, type PointerEvent, type ReactElement } from "react";

import type { WireMemoryCurve, WireMemoryPeak, WireReport } from "../../api/types";
import { usePlace } from "../../parts/services";
import { Term } from "../../components/Tip";
import { bytes, duration } from "../../text/formats";
import type { Span } from "../../text/span";
import { colourOf, MEMORY_COLOURS, PHASE_COLOURS } from "../../theme/colours";
import { areas, fractionOf, highestOf, levelAt, line, MEMORY_CLASSES, moved, SIDE } from "./curve";
import { CLASS_DEFINITIONS } from "./definitions";

interface CurveProps {
  curve: WireMemoryCurve;
  peak: WireMemoryPeak | null;
  report: WireReport;
}

const HEIGHT = 220;
const BAND = 10;
/** A shorter drag is a click. */
const LEAST = 0.005;

/** Bytes in use over time, stacked by class; a drag zooms in. */
export function Curve({ curve, peak, report }: CurveProps): ReactElement {
  const highest = highestOf(curve);
  const [at, setAt] = useState<number | null>(null);
  const [from, setFrom] = useState<number | null>(null);
  const window_ = useWindow(curve, report);
  const index = at === null ? null : levelAt(curve, at);
  return (
    <section className="memory-curve" aria-label="Memory over time">
      <Scale curve={curve} highest={highest} report={report} window_={window_} />
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
          setFrom(null);
        }}
      >
        {areas(curve, highest).map(({ key, path }) => (
          <path key={key} d={path} style={{ fill: colourOf(MEMORY_COLOURS[key]) }} />
        ))}
        {curve.reserved_bytes !== null && (
          <path className="memory-reserved" d={line(curve, curve.reserved_bytes, highest)} />
        )}
        {curve.steps.map((step) => (
          <Mark key={step.start_us} at={fractionOf(curve, step.start_us)} className="memory-step" />
        ))}
        {peak !== null && <Mark at={fractionOf(curve, peak.time_us)} className="memory-peak" />}
        {from !== null && at !== null && (
          <rect
            className="memory-drag"
            x={Math.min(from, at) * SIDE}
            width={Math.abs(at - from) * SIDE}
            height={SIDE}
          />
        )}
      </svg>
      <Bands curve={curve} />
      <Readout curve={curve} index={index} peak={peak} />
    </section>
  );
}

interface ScaleProps extends Omit<CurveProps, "peak"> {
  highest: number;
  window_: Window;
}

/** What height and width of the chart stand for. */
function Scale({ curve, highest, report, window_ }: ScaleProps): ReactElement {
  return (
    <div className="memory-scale muted">
      <span>{bytes(highest)}</span>
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

function Mark({ at, className }: { at: number; className: string }): ReactElement | null {
  if (at < 0 || at > 1) return null;
  return <line className={className} x1={at * SIDE} x2={at * SIDE} y1={0} y2={SIDE} />;
}

/** Phases of the host, below the curve. */
function Bands({ curve }: { curve: WireMemoryCurve }): ReactElement {
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

interface ReadoutProps {
  curve: WireMemoryCurve;
  index: number | null;
  peak: WireMemoryPeak | null;
}

/** The classes with their bytes: where the pointer is, else at the peak. */
function Readout({ curve, index, peak }: ReadoutProps): ReactElement {
  const keys = MEMORY_CLASSES.filter(
    (key) => curve.classes[key] !== undefined || peak?.classes?.[key] !== undefined,
  );
  return (
    <ul className="legend memory-legend">
      <li className="muted">{index === null ? "at the peak" : "at the pointer"}</li>
      {keys.map((key) => (
        <li key={key}>
          <span className="swatch" style={{ background: colourOf(MEMORY_COLOURS[key]) }} />
          <Term text={CLASS_DEFINITIONS[key].text}>{CLASS_DEFINITIONS[key].title}</Term>
          <strong>
            {bytes(index === null ? (peak?.classes?.[key] ?? 0) : curve.classes[key]?.[index])}
          </strong>
        </li>
      ))}
      {curve.reserved_bytes !== null && (
        <li>
          <span className="swatch memory-reserved-swatch" />
          reserved
          <strong>
            {bytes(index === null ? peak?.reserved_bytes : curve.reserved_bytes[index])}
          </strong>
        </li>
      )}
    </ul>
  );
}

interface Window {
  whole: boolean;
  zoom: (from: number, to: number) => void;
  reset: () => void;
  onKey: (event: KeyboardEvent) => void;
}

/** The window of the address, which the timeline has too. */
function useWindow(curve: WireMemoryCurve, report: WireReport): Window {
  const [{ shown }, go] = usePlace();
  const begin = report.trace.start_us;
  const whole = { from: 0, to: report.trace.duration_us };
  const now: Span = { from: curve.start_us - begin, to: curve.end_us - begin };
  const keys: Readonly<Record<string, () => Span | null>> = {
    "+": () => moved(now, 0.5, 0, whole),
    "=": () => moved(now, 0.5, 0, whole),
    "-": () => moved(now, 2, 0, whole),
    ArrowLeft: () => moved(now, 1, -0.25, whole),
    ArrowRight: () => moved(now, 1, 0.25, whole),
    Home: () => null,
  };
  return {
    whole: shown === null,
    zoom: (from, to) => {
      const length = now.to - now.from;
      const [low, high] = from < to ? [from, to] : [to, from];
      go({ shown: { from: now.from + low * length, to: now.from + high * length } });
    },
    reset: () => {
      go({ shown: null });
    },
    onKey: (event) => {
      const next = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      if (next === undefined) return;
      event.preventDefault();
      go({ shown: next() }, true);
    },
  };
}

function fraction(event: PointerEvent<SVGSVGElement>): number {
  const box = event.currentTarget.getBoundingClientRect();
  return Math.min(Math.max((event.clientX - box.left) / Math.max(box.width, 1), 0), 1);
}
