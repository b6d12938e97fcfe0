import type { ReactElement } from "react";

import { Term } from "../../components/Tip";
import { count, counted, duration } from "../../text/formats";
import { colourOf } from "../../theme/colours";
import type { Bin } from "./collectives";
import { COLLECTIVE_DEFINITIONS as C } from "./definitions";

const [WIDTH, HEIGHT, BOTTOM, TOP, LEFT] = [560, 190, 24, 16, 36];

/** How many collectives took how long: their transfer, and the wait before it. */
export function Histogram({ bins }: { bins: readonly Bin[] }): ReactElement {
  const most = Math.max(...bins.map((bin) => Math.max(bin.transfers, bin.waits)), 1);
  return (
    <section className="facet" aria-label="Durations">
      <h2>Durations</h2>
      <ul className="legend">
        <li>
          <span className="swatch" style={{ background: colourOf("communication") }} />
          <Term text={C.transfer.text}>{C.transfer.title}</Term>
        </li>
        <li>
          <span className="swatch" style={{ background: colourOf("idleUnknown") }} />
          <Term text={C.wait.text}>{C.wait.title}</Term>
        </li>
      </ul>
      <svg
        className="ranks-chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={sentence(bins)}
      >
        <line x1={LEFT} x2={WIDTH} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} />
        <text x={LEFT - 6} y={TOP + 4} textAnchor="end">
          {count(most)}
        </text>
        <text x={LEFT - 6} y={HEIGHT - BOTTOM} textAnchor="end">
          0
        </text>
        {bins.map((bin, at) => (
          <Bars key={bin.from} bin={bin} at={at} bins={bins.length} most={most} />
        ))}
      </svg>
    </section>
  );
}

interface BarsProps {
  bin: Bin;
  at: number;
  bins: number;
  most: number;
}

function Bars({ bin, at, bins, most }: BarsProps): ReactElement {
  const width = (WIDTH - LEFT) / bins;
  const left = LEFT + at * width;
  const bar = (number: number, side: 0 | 1, colour: string): ReactElement => {
    const height = (number / most) * (HEIGHT - BOTTOM - TOP);
    return (
      <rect
        x={left + width * (0.08 + 0.42 * side)}
        width={width * 0.42}
        y={HEIGHT - BOTTOM - height}
        height={height}
        style={{ fill: colour }}
      />
    );
  };
  const every = Math.ceil(62 / width);
  return (
    <g>
      <title>
        {duration(bin.from)} to {duration(bin.to)}: {count(bin.transfers)} transfers,{" "}
        {count(bin.waits)} waits
      </title>
      <rect x={left} width={width} y={TOP} height={HEIGHT - TOP - BOTTOM} className="hit" />
      {bar(bin.transfers, 0, colourOf("communication"))}
      {bar(bin.waits, 1, colourOf("idleUnknown"))}
      {at % every === 0 && (
        <text x={left} y={HEIGHT - 6} textAnchor={at === 0 ? "start" : "middle"}>
          {duration(bin.from)}
        </text>
      )}
    </g>
  );
}

function sentence(bins: readonly Bin[]): string {
  const [first, last] = [bins[0], bins.at(-1)];
  if (first === undefined || last === undefined) return "No collectives.";
  const all = bins.reduce((sum, { transfers }) => sum + transfers, 0);
  const peak = bins.reduce((best, bin) => (bin.transfers > best.transfers ? bin : best), first);
  return `Durations of ${counted(all, "collective")}, ${duration(first.from)} to ${duration(last.to)}; most transfers take ${duration(peak.from)} to ${duration(peak.to)}.`;
}
