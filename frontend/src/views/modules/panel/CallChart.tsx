import { type ReactElement, useState } from "react";

import type { CallRow, CallsOverTime, ReportData } from "../../../api/schema";
import { Facts } from "../../../components/SmallTable";
import { Term } from "../../../components/Tip";
import { PlaceLink } from "../../../parts/PlaceLink";
import type { Measure } from "../../../report/measures";
import { count, counted, duration } from "../../../text/formats";
import { MODULE_PANEL_DEFINITIONS as D } from "../definitions";
import { callField } from "../quantity";
import {
  backwardInTimeline,
  type CallBar,
  callBars,
  costOf,
  forwardInTimeline,
} from "./moduleDetail";

interface CallChartProps {
  report: ReportData;
  calls: CallsOverTime;
  clock: Measure;
}

const WIDTH = 300;
const HALF = 26;
/** Few calls leave room rather than becoming slabs. */
const FEWEST = 8;

/** Every call, first to last: its backward above the line, its forward below. */
export function CallChart({ report, calls, clock }: CallChartProps): ReactElement {
  const [picked, setPicked] = useState(0);
  const bars = callBars(calls, clock);
  const bar = bars[Math.min(picked, bars.length - 1)];
  return (
    <section aria-label="Calls over time">
      <h3>
        <Term text={D.call.text}>Calls over time, {clock}</Term>
      </h3>
      {bar === undefined ? (
        <p className="muted">Never called itself; its time is in the calls of its children.</p>
      ) : (
        <>
          {calls.count > 1 && (
            <>
              <Chart bars={bars} picked={bars.indexOf(bar)} onPick={setPicked} />
              <label className="call-slider">
                <span className="muted">{titleOf(bar, calls)}</span>
                <input
                  type="range"
                  aria-label="Call"
                  aria-valuetext={titleOf(bar, calls)}
                  min={0}
                  max={bars.length - 1}
                  value={bars.indexOf(bar)}
                  onChange={(event) => setPicked(Number(event.target.value))}
                />
              </label>
            </>
          )}
          <CallFacts report={report} call={bar.call} clock={clock} />
          <Slowest report={report} calls={calls} clock={clock} />
        </>
      )}
      {calls.binned && (
        <p className="muted">
          {count(calls.count)} calls are too many for one bar each: a bar is the mean of{" "}
          {counted(bar?.call.calls ?? 0, "call")}.
        </p>
      )}
      <Unplaced calls={calls} clock={clock} />
    </section>
  );
}

interface ChartProps {
  bars: readonly CallBar[];
  picked: number;
  onPick: (index: number) => void;
}

function Chart({ bars, picked, onPick }: ChartProps): ReactElement {
  const step = WIDTH / Math.max(bars.length, FEWEST);
  const width = Math.max(step - (step > 3 ? 1 : 0), 0.5);
  const line = bars.some((bar) => bar.backward > 0) ? HALF : 0;
  const height = line + 1 + (bars.some((bar) => bar.forward > 0) ? HALF : 0);
  return (
    <svg
      className="call-chart"
      viewBox={`0 0 ${WIDTH} ${height}`}
      style={{ height }}
      preserveAspectRatio="none"
      aria-hidden="true"
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const at = ((event.clientX - box.left) / box.width) * WIDTH;
        onPick(Math.max(0, Math.min(bars.length - 1, Math.floor(at / step))));
      }}
    >
      {bars.map((bar, index) => (
        <g key={bar.first} className={index === picked ? "picked" : ""}>
          <rect
            className="backward"
            x={index * step}
            y={line - bar.backward * HALF}
            width={width}
            height={bar.backward * HALF}
          />
          <rect
            className="forward"
            x={index * step}
            y={line + 1}
            width={width}
            height={bar.forward * HALF}
          />
        </g>
      ))}
    </svg>
  );
}

function titleOf({ first, last }: CallBar, calls: CallsOverTime): string {
  const which = first === last ? `call ${count(first)}` : `calls ${count(first)} to ${count(last)}`;
  return `${which} of ${count(calls.count)}`;
}

interface CallRowProps {
  report: ReportData;
  call: CallRow;
  clock: Measure;
}

function CallFacts({ report, call, clock }: CallRowProps): ReactElement {
  const cost = costOf(call, clock);
  const backward = backwardInTimeline(report, call);
  return (
    <Facts
      of={[
        [
          "forward",
          <>
            {duration(cost.forward)}
            <PlaceLink to={forwardInTimeline(report, call)}>show in timeline</PlaceLink>
          </>,
        ],
        [
          "backward",
          <>
            {duration(backward === null ? null : cost.backward)}
            {backward !== null && <PlaceLink to={backward}>show in timeline</PlaceLink>}
          </>,
        ],
      ]}
    />
  );
}

/** The most expensive call of each direction, wherever it is. */
function Slowest({ report, calls, clock }: CallChartProps): ReactElement | null {
  if (calls.count < 2) return null;
  const mostExpensive = (["forward", "backward"] as const).map((side) => {
    const measure = callField(side, clock);
    const call = calls.slowest[measure];
    const place =
      call === undefined
        ? null
        : side === "forward"
          ? forwardInTimeline(report, call)
          : backwardInTimeline(report, call);
    return { side, place, us: call?.[measure] ?? null };
  });
  return (
    <p className="slowest">
      <span className="muted">slowest </span>
      {mostExpensive.map(
        ({ side, place, us }) =>
          place !== null && (
            <PlaceLink key={side} to={place}>
              {side} {duration(us)}
            </PlaceLink>
          ),
      )}
    </p>
  );
}

function Unplaced({ calls, clock }: Omit<CallChartProps, "report">): ReactElement | null {
  const forward = calls.unplaced[callField("forward", clock)] ?? 0;
  const backward = calls.unplaced[callField("backward", clock)] ?? 0;
  if (forward + backward === 0) return null;
  return (
    <p className="muted">
      <Term text={D.unplaced.text}>In no call</Term>: forward {duration(forward)}, backward{" "}
      {duration(backward)}.
    </p>
  );
}
