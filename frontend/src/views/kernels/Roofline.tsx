import { type ReactElement, useState } from "react";

import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { useWidth } from "../../components/browser";
import { clip, duration, figure, percent } from "../../text/formats";
import { shortKernelName } from "../../text/kernelName";
import {
  along,
  type Axes,
  axesOf,
  labelsOf,
  type Roof,
  roofLine,
  type RooflinePoint,
  tickText,
} from "./axes";
import { KERNEL_DEFINITIONS as K, ROOFLINE_DEFINITIONS as R } from "./definitions";

/** In pixels; wider where there is room. */
const LEAST_WIDTH = 420;
const HEIGHT = 300;
const LEFT = 56;
const BOTTOM = 40;
const TOP = 26;
/** Room for the last label of the axis, and what one character of a roof's name takes at most. */
const RIGHT = 24;
const CHARACTER = 7;
const LABEL = 13;
/** Characters of the label of a dot. */
const MOST_LABEL = 24;

function label(name: string): string {
  return name.length > MOST_LABEL ? `${name.slice(0, MOST_LABEL)}…` : name;
}

interface RooflineProps {
  points: readonly RooflinePoint[];
  roofs: readonly Roof[];
  selected: number | null;
  onSelect: (id: number) => void;
}

/** Pixels of a share of the horizontal axis. */
type PlaceX = (share: number) => number;

interface PartProps {
  axes: Axes;
  placeX: PlaceX;
}

interface DotsProps {
  points: readonly RooflinePoint[];
}

const placeY = (share: number): number => HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);

/** Intensity against TFLOP/s; each point is reached by the keyboard, and the table says the same. */
export function Roofline({ points, roofs, selected, onSelect }: RooflineProps): ReactElement {
  const [pointed, setPointed] = useState<number | null>(null);
  const [box, measured] = useWidth<HTMLDivElement>();
  const width = Math.max(measured, LEAST_WIDTH);
  const names = Math.max(...roofs.map((roof) => roofName(roof).length), 0);
  const right = Math.min(Math.max(RIGHT, names * CHARACTER + 12), width / 2);
  const placeX: PlaceX = (share) => LEFT + share * (width - LEFT - right);
  const axes = axesOf(points, roofs);
  const radius = radiusOf(points);
  const shown = points.find(({ id }) => id === (pointed ?? selected));
  return (
    <>
      <div ref={box} className="roofline-box">
        <svg
          className="roofline"
          width={width}
          height={HEIGHT}
          role="group"
          aria-label="Roofline: FLOP per byte against TFLOP/s"
        >
          <Grid axes={axes} placeX={placeX} />
          <DotLabels points={points} axes={axes} placeX={placeX} />
          <Roofs roofs={roofs} axes={axes} placeX={placeX} />
          {points.map((point) => (
            <circle
              key={point.id}
              className={point.id === selected ? "point selected" : "point"}
              cx={placeX(along(point.intensity, axes.x))}
              cy={placeY(along(point.rate, axes.y))}
              r={radius(point.us)}
              role="button"
              tabIndex={0}
              aria-label={sentence(point)}
              aria-pressed={point.id === selected}
              onClick={() => onSelect(point.id)}
              onKeyDown={(event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                onSelect(point.id);
              }}
              onFocus={() => setPointed(point.id)}
              onBlur={() => setPointed(null)}
              onMouseEnter={() => setPointed(point.id)}
              onMouseLeave={() => setPointed(null)}
            />
          ))}
        </svg>
      </div>
      <p className="muted roofline-pointed">
        {shown === undefined ? hint(roofs) : <bdi>{sentence(shown)}</bdi>}
      </p>
      <PointTable points={points} />
    </>
  );
}

/** A dot's area grows with its time. */
function radiusOf(points: readonly RooflinePoint[]): (us: number) => number {
  const most = Math.max(...points.map(({ us }) => us), 1);
  return (us) => 4 + 8 * Math.sqrt(us / most);
}

/** The names of the dots with the most time, where there is room for them. */
function DotLabels({ points, axes, placeX }: PartProps & DotsProps): ReactElement {
  const radius = radiusOf(points);
  const dots = points.map(({ name, intensity, rate, us }) => ({
    text: label(shortKernelName(name)),
    x: placeX(along(intensity, axes.x)),
    y: placeY(along(rate, axes.y)),
    r: radius(us),
    us,
  }));
  return (
    <g className="dot-labels" aria-hidden="true">
      {labelsOf(dots, { width: CHARACTER, height: LABEL, right: placeX(1) }).map((label) => (
        <text key={`${label.x} ${label.y}`} x={label.x} y={label.y}>
          {label.text}
        </text>
      ))}
    </g>
  );
}

function hint(roofs: readonly Roof[]): string {
  const tensor = roofs.some(({ name }) => name.includes("tensor")) ? " TC: on tensor cores." : "";
  return `A larger circle has more time. Point at one, or reach it by Tab.${tensor}`;
}

function sentence({ name, intensity, rate, us, share }: RooflinePoint): string {
  const peak = share === null ? "" : `, ${percent(share)} of peak`;
  return `${clip(shortKernelName(name), 120)}: ${figure(rate)} TFLOP/s at ${figure(intensity)} FLOP/byte${peak}, ${duration(us)}`;
}

function Grid({ axes, placeX }: PartProps): ReactElement {
  const right = placeX(1);
  const ticks = ([from, to]: readonly [number, number]): number[] =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return (
    <g className="roofline-grid" aria-hidden="true">
      {ticks(axes.x).map((power) => {
        const x = placeX(along(10 ** power, axes.x));
        return (
          <g key={power}>
            <line x1={x} x2={x} y1={TOP} y2={HEIGHT - BOTTOM} />
            <text x={x} y={HEIGHT - BOTTOM + 15} textAnchor="middle">
              {tickText(power)}
            </text>
          </g>
        );
      })}
      {ticks(axes.y).map((power) => {
        const y = placeY(along(10 ** power, axes.y));
        return (
          <g key={power}>
            <line x1={LEFT} x2={right} y1={y} y2={y} />
            <text x={LEFT - 6} y={y + 4} textAnchor="end">
              {tickText(power)}
            </text>
          </g>
        );
      })}
      <text x={right} y={HEIGHT - 6} textAnchor="end">
        FLOP/byte
      </text>
      <text x={4} y={12}>
        TFLOP/s
      </text>
    </g>
  );
}

function roofName(roof: Roof): string {
  return `${roof.name.replaceAll(" on tensor cores", " TC")} ${figure(roof.peak)}`;
}

/** The roofs, with their names at the right edge, none upon another. */
function Roofs({ roofs, axes, placeX }: PartProps & { roofs: readonly Roof[] }): ReactElement {
  const ordered = [...roofs].sort((a, b) => b.peak - a.peak);
  const labels: number[] = [];
  for (const { peak } of ordered) {
    const y = placeY(along(peak, axes.y)) + 4;
    labels.push(Math.max(y, (labels.at(-1) ?? -LABEL) + LABEL));
  }
  return (
    <g className="roofs" aria-hidden="true">
      {ordered.map((roof, index) => (
        <g key={roof.name}>
          <polyline
            points={roofLine(roof, axes)
              .map(([x, y]) => `${placeX(x)},${Math.min(placeY(y), HEIGHT - BOTTOM)}`)
              .join(" ")}
          />
          <text x={placeX(1) + 6} y={labels[index]}>
            {roofName(roof)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** What the roofline shows, for those who do not see it. */
function PointTable({ points }: { points: readonly RooflinePoint[] }): ReactElement {
  return (
    <details>
      <summary>The points as a table</summary>
      <SmallTable
        rows={points}
        keyOf={({ id }) => id}
        columns={[
          ["name", ({ name }) => <Name kernel text={name} />],
          [R.intensity, ({ intensity }) => figure(intensity)],
          [R.rate, ({ rate }) => figure(rate)],
          [K.peak, ({ share }) => percent(share)],
          [{ ...K.total, title: "time" }, ({ us }) => duration(us)],
        ]}
      />
    </details>
  );
}
