import type { ReactElement } from "react";

import type { History, Runs } from "../../api/schema";
import { useWidth } from "../../components/browser";
import { usePlaceLinks } from "../../parts/PlaceLink";
import { duration } from "../../text/formats";
import {
  areaPath,
  ceilingOf,
  LEFT,
  linePath,
  middles,
  placeOf,
  placeOfRecording,
  pointsOf,
  stepsText,
  textSize,
  whenText,
  WIDTH,
} from "./model";

const [HEIGHT, TOP, BOTTOM] = [220, 20, 22];

interface StepCurveProps {
  history: History;
  listed: Runs;
  run: string;
}

/** The length of a step over the whole training, by rank, with the recordings as points. */
export function StepCurve({ history, listed, run }: StepCurveProps): ReactElement {
  const { points } = history;
  const [box, width] = useWidth<HTMLDivElement>();
  const most = ceilingOf(history);
  const y = (us: number): number =>
    HEIGHT - BOTTOM - (Math.min(us, most) / most) * (HEIGHT - BOTTOM - TOP);
  const x = middles(points);
  const several = Object.keys(points.ranks).length > 1;
  return (
    <div ref={box} className="history-box">
      <svg
        className="history-chart"
        style={{ fontSize: textSize(width) }}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="group"
        aria-label={`Step time from step ${history.first_step} to ${history.last_step}`}
      >
        <Axis most={most} y={y} history={history} />
        {history.slow_steps.map((slow) => (
          <rect
            key={slow.id}
            className="history-slow"
            x={placeOf(slow.first, points)}
            width={Math.max(1.5, placeOf(slow.last + 1, points) - placeOf(slow.first, points))}
            y={TOP}
            height={HEIGHT - BOTTOM - TOP}
          >
            <title>
              Slow steps {whenText(slow, history)}: {duration(slow.step_us)} instead of{" "}
              {duration(slow.median_us)}
            </title>
          </rect>
        ))}
        <path className="history-range" d={areaPath(x, points.min_us, points.max_us, y)} />
        {several &&
          Object.entries(points.ranks).map(([rank, values]) => (
            <path key={rank} className="history-rank" d={linePath(x, values, y)}>
              <title>Rank {rank}</title>
            </path>
          ))}
        <path className="history-median" d={linePath(x, points.median_us, y)} />
        {points.first.map((first, at) => (
          <rect
            key={first}
            className="hit"
            x={placeOf(first, points)}
            width={placeOf((points.last[at] ?? first) + 1, points) - placeOf(first, points)}
            y={TOP}
            height={HEIGHT - BOTTOM - TOP}
          >
            <title>
              Steps {stepsText({ first, last: points.last[at] ?? first })}: median{" "}
              {duration(points.median_us[at])}, {duration(points.min_us[at])} to{" "}
              {duration(points.max_us[at])}
            </title>
          </rect>
        ))}
        <Recordings history={history} listed={listed} run={run} />
      </svg>
    </div>
  );
}

interface AxisProps {
  history: History;
  most: number;
  y: (us: number) => number;
}

function Axis({ history, most, y }: AxisProps): ReactElement {
  return (
    <>
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line x1={LEFT} x2={WIDTH} y1={y(most * share)} y2={y(most * share)} />
          <text x={LEFT - 6} y={y(most * share) + 4} textAnchor="end">
            {share === 0 ? "0" : duration(most * share)}
          </text>
        </g>
      ))}
      <text x={LEFT} y={HEIGHT - 6}>
        step {history.first_step}
      </text>
      <text x={WIDTH} y={HEIGHT - 6} textAnchor="end">
        {history.last_step}
      </text>
    </>
  );
}

function Recordings({ history, listed, run }: StepCurveProps): ReactElement {
  const linkTo = usePlaceLinks();
  return (
    <>
      {pointsOf(history.recordings).map((recording) => {
        const to = placeOfRecording(recording, listed, run);
        const last = recording.start + recording.steps - 1;
        const text = `Recording of steps ${stepsText({ first: recording.start, last })} (${recording.reason})`;
        const at = placeOf(recording.start + recording.steps / 2, history.points);
        const mark = <circle cx={at} cy={TOP - 8} r={6} className={to === null ? "gone" : ""} />;
        if (to === null) {
          return (
            <g key={recording.id}>
              <title>{text}, no longer kept</title>
              {mark}
            </g>
          );
        }
        return (
          <a key={recording.id} {...linkTo(to)} aria-label={text}>
            <title>{text}</title>
            {mark}
          </a>
        );
      })}
    </>
  );
}
