import type { ReactElement } from "react";

import type { CollectiveSize } from "../../api/schema";
import { SmallTable } from "../../components/SmallTable";
import { bytes, count, counted, duration } from "../../text/formats";
import { along, decades, kindText, type LogAxis } from "./collectives";
import { COLLECTIVE_DEFINITIONS as C } from "./definitions";

const [WIDTH, HEIGHT, BOTTOM, TOP, LEFT, RIGHT] = [560, 190, 24, 12, 64, 24];

interface BandwidthProps {
  sizes: readonly CollectiveSize[];
  leftOut: number;
}

/** Bus bandwidth against size: a circle for each kind and size; the table says the same. */
export function Bandwidth({ sizes, leftOut }: BandwidthProps): ReactElement {
  return (
    <section className="facet" aria-label="Bandwidth against size">
      <h2>
        Bandwidth against size{" "}
        {leftOut > 0 && <span className="muted">{counted(leftOut, "rarer size")} left out</span>}
      </h2>
      {sizes.length === 0 ? (
        <p className="muted">
          The traces do not say how many bytes these collectives move; record with record_shapes, or
          with a PyTorch that writes the parameters of collectives.
        </p>
      ) : (
        <>
          <Circles sizes={sizes} />
          <SizeTable sizes={sizes} />
        </>
      )}
    </section>
  );
}

function Circles({ sizes }: { sizes: readonly CollectiveSize[] }): ReactElement {
  const x = decades(sizes.map((size) => size.bytes));
  const y = decades(sizes.map((size) => size.bus_gb_per_s));
  const most = Math.max(...sizes.map(({ count: number }) => number));
  const placeX = (value: number): number => LEFT + along(value, x) * (WIDTH - LEFT - RIGHT);
  const placeY = (value: number): number =>
    HEIGHT - BOTTOM - along(value, y) * (HEIGHT - BOTTOM - TOP);
  return (
    <svg
      className="ranks-chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`Bus bandwidth of ${counted(sizes.length, "size")} of collectives`}
    >
      {powers(x).map((power) => (
        <g key={`x${power}`}>
          <line x1={placeX(power)} x2={placeX(power)} y1={TOP} y2={HEIGHT - BOTTOM} />
          <text x={placeX(power)} y={HEIGHT - 8} textAnchor="middle">
            {bytes(power).replace(".0 ", " ")}
          </text>
        </g>
      ))}
      {powers(y).map((power) => (
        <g key={`y${power}`}>
          <line x1={LEFT} x2={WIDTH - RIGHT} y1={placeY(power)} y2={placeY(power)} />
          <text x={LEFT - 5} y={placeY(power) + 4} textAnchor="end">
            {rate(power)}
          </text>
        </g>
      ))}
      {sizes.map((size) => (
        <circle
          key={size.id}
          cx={placeX(size.bytes)}
          cy={placeY(size.bus_gb_per_s)}
          r={3 + 6 * Math.sqrt(size.count / most)}
        >
          <title>{`${kindText(size.name)} of ${bytes(size.bytes)}, ${counted(size.ranks, "rank")}: ${rate(size.bus_gb_per_s)}, ${count(size.count)}×`}</title>
        </circle>
      ))}
    </svg>
  );
}

/** A bandwidth in 10^9 bytes per second, with the unit that suits it. */
function rate(gbPerS: number): string {
  return `${bytes(Math.round(gbPerS * 1e9)).replace(".0 ", " ")}/s`;
}

function powers({ from, to }: LogAxis): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
}

function SizeTable({ sizes }: { sizes: readonly CollectiveSize[] }): ReactElement {
  return (
    <details>
      <summary>As a table</summary>
      <SmallTable
        first={20}
        rows={sizes}
        keyOf={({ id }) => id}
        columns={[
          [C.name, (size) => kindText(size.name)],
          [C.bytes, (size) => bytes(size.bytes)],
          [C.ranks, (size) => count(size.ranks)],
          [C.count, (size) => count(size.count)],
          [C.medianTransfer, (size) => duration(size.transfer_us)],
          [C.medianBandwidth, (size) => rate(size.bus_gb_per_s)],
          [C.fastest, (size) => rate(size.max_bus_gb_per_s)],
        ]}
      />
    </details>
  );
}
