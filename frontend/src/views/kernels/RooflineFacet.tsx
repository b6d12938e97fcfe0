import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import { Name } from "../../components/Name";
import { Segments } from "../../components/controls";
import { numberOf, rowsOf, type TableRow, textOf, useRows } from "../../parts/serverTable/rows";
import { Roofline } from "./Roofline";
import { ROOFLINE_POINTS, type RooflinePoints } from "./address";
import type { Roof, RooflinePoint } from "./axes";

const MOST = 40;

interface Source {
  table: string;
  time: string;
  name: (row: TableRow) => string;
}

const SOURCES: Readonly<Record<RooflinePoints, Source>> = {
  kernel: { table: "kernels_by_launch", time: "total_us", name: (row) => textOf(row, "name") },
  operator: {
    table: "operators_by_shape",
    time: "flops_us",
    name: (row) => `${textOf(row, "name")} ${textOf(row, "shapes")}`,
  },
  module: {
    table: "module_utilization",
    time: "flops_us",
    name: (row) => textOf(row, "path") || "(root)",
  },
};

const TITLES: Readonly<Record<RooflinePoints, string>> = {
  kernel: "Kernels",
  operator: "Operators",
  module: "Modules",
};

interface RooflineFacetProps {
  target: Target;
  points: RooflinePoints;
  onPoints: (points: RooflinePoints) => void;
  selected: number | null;
  onSelect: (id: number) => void;
}

/** The roofline with the points that the reader asks for, most expensive first. */
export function RooflineFacet(props: RooflineFacetProps): ReactElement {
  const { target, points, onPoints, selected, onSelect } = props;
  const { table, time, name } = SOURCES[points];
  const answer = useRows(target, {
    table,
    sort: [`-${time}`],
    filter: ["flops:ge:1"],
    limit: MOST,
  });
  const peaks = useRows(target, {
    table: "device_peaks",
    limit: MOST,
  });
  const drawn = rowsOf(answer.value).flatMap((row) => pointOf(row, time, name(row)));
  const roofs = roofsOf(rowsOf(peaks.value));
  return (
    <section
      className={
        drawn.length > 0 || answer.status === "loading"
          ? "facet roofline-facet drawn"
          : "facet roofline-facet"
      }
      aria-label="Roofline"
      aria-busy={answer.status === "loading"}
    >
      <div className="toolbar">
        <h2>Roofline</h2>
        <Segments
          label="Points"
          segments={ROOFLINE_POINTS.map((value) => ({ value, title: TITLES[value] }))}
          chosen={points}
          onChoose={onPoints}
        />
      </div>
      {drawn.length === 0 ? (
        <p className="muted">
          {answer.status === "loading"
            ? "Loading…"
            : "No FLOPs are known: record with record_shapes=True. Compiled kernels and custom operators have none."}
        </p>
      ) : (
        <>
          {roofs.length === 0 && peaks.status === "ready" && (
            <p className="muted">The peaks of this device are not known, so no roof is drawn.</p>
          )}
          <Roofline points={drawn} roofs={roofs} selected={selected} onSelect={onSelect} />
          <PeakSource peaks={rowsOf(peaks.value)} />
        </>
      )}
    </section>
  );
}

function pointOf(row: TableRow, time: string, name: string): RooflinePoint[] {
  const intensity = numberOf(row, "flop_per_byte");
  const rate = numberOf(row, "tflop_per_s");
  if (intensity === null || rate === null) return [];
  const us = numberOf(row, time) ?? 0;
  return [{ id: Number(row.id), name, intensity, rate, us, share: numberOf(row, "peak_share") }];
}

/** One roof for each peak of the first device; equal ones once. */
function roofsOf(rows: readonly TableRow[]): Roof[] {
  const roofs = new Map<number, Roof>();
  for (const row of rows.filter((each) => each.device_id === rows[0]?.device_id)) {
    const peak = numberOf(row, "tflop_per_s") ?? 0;
    const known = roofs.get(peak);
    const name = peakText(textOf(row, "dtype"));
    const gbPerS = numberOf(row, "gb_per_s") ?? 0;
    roofs.set(peak, { name: known === undefined ? name : `${known.name}, ${name}`, peak, gbPerS });
  }
  return [...roofs.values()];
}

/** Names of peaks as people write them: `float64_tensor` is float64 on tensor cores. */
function peakText(text: string): string {
  return text.replaceAll("_tensor", " on tensor cores");
}

/** Where the roofs of the first device are from, and whether another source has them too. */
function PeakSource({ peaks }: { peaks: readonly TableRow[] }): ReactElement | null {
  const [peak] = peaks;
  if (peak === undefined) return null;
  const confirmed = textOf(peak, "confirmed");
  return (
    <p className="muted">
      Peaks of {textOf(peak, "name")}: <Name text={textOf(peak, "source")} className="wrap" />.{" "}
      {confirmed === "" ? (
        "Unverified: no second source was found."
      ) : (
        <>
          Confirmed: <Name text={peakText(confirmed)} className="wrap" />; the other figures are
          unverified.
        </>
      )}
    </p>
  );
}
