import { useRef, useState, type KeyboardEvent, type PointerEvent, type ReactElement } from "react";

import type { RunOverview, StepMatrix } from "../../api/schema";
import { useWidth } from "../../components/browser";
import { usePlace } from "../../parts/services";
import { counted, duration, percent } from "../../text/formats";
import { stepLabel } from "../../text/names";
import { ratio } from "../../text/numbers";
import type { Palette } from "../../theme/colours";
import type { RankQuantity } from "./address";
import { HEAT_DEFINITIONS } from "./definitions";
import { cellAt, moved, type Cell, type Scale } from "./heat";
import { LateColumns, LateMarks, RankTicks, StepLabels } from "./HeatAxes";
import { Cells, Outline } from "./HeatCells";
import { useChangeRanks } from "./useRun";

const [LEAST_ROW_PX, MOST_ROW_PX, HEIGHT_PX] = [5, 22, 280];
/** The straggler's marks, the ranks' numbers and the readout around the rows; more rows scroll. */
const [AROUND_PX, MOST_PX] = [48, 400];
/** Pixels that the number of a rank or step takes, with some space. */
const TICK_PX = 44;

interface HeatMapProps {
  run: RunOverview;
  steps: StepMatrix;
  heat: RankQuantity;
  scale: Scale;
  colour: keyof Palette;
}

function rowPixels(rows: number): number {
  return Math.min(Math.max(Math.floor(HEIGHT_PX / rows), LEAST_ROW_PX), MOST_ROW_PX);
}

/** Height of the map of N steps, known before their values are. */
export function heightOf(rows: number): number {
  return Math.min(rowPixels(rows) * rows, MOST_PX) + AROUND_PX;
}

/** A cell for each step (downwards) of each rank (to the right), and what the one in focus holds. */
export function HeatMap(props: HeatMapProps): ReactElement {
  const { run, steps } = props;
  const [box, width] = useWidth<HTMLDivElement>();
  const [at, setAt] = useState<Cell | null>(null);
  const selected = useSelectedCell(run, steps);
  const rows = steps.steps.length;
  const rowPx = rowPixels(rows);
  const shown = at ?? selected;
  return (
    <div className="rank-heat">
      <StepLabels steps={steps.steps} rowPx={rowPx} />
      <div className="rank-heat-scroll" ref={box}>
        <LateMarks run={run} />
        <Grid {...props} width={width} rowPx={rowPx} at={at} onAt={setAt} selected={selected} />
        <RankTicks run={run} most={Math.max(Math.floor(width / TICK_PX), 1)} />
      </div>
      <p id="rank-heat-readout" className="rank-heat-readout" role="status">
        {shown === null ? (
          "Point at a cell, or reach the map by Tab."
        ) : (
          <Readout {...props} cell={shown} />
        )}
      </p>
    </div>
  );
}

interface GridProps extends HeatMapProps {
  width: number;
  rowPx: number;
  /** The cell that is pointed at, or where the keyboard is. */
  at: Cell | null;
  onAt: (cell: Cell | null) => void;
  selected: Cell | null;
}

/** The cells. Arrows move, Enter or a click selects. */
function Grid(props: GridProps): ReactElement {
  const { run, steps, heat, rowPx, at, onAt, selected } = props;
  const cursor = useRef<Cell>(selected ?? { step: 0, rank: 0 });
  const select = useSelect(run, steps);
  const rows = steps.steps.length;
  const ranks = run.ranks.length;
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = moved(cursor.current, event.key, rows, ranks);
    if (next === null && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (next === null) select(cursor.current);
    else onAt((cursor.current = next));
  };
  return (
    <div
      className="rank-heat-cells"
      role="application"
      tabIndex={0}
      aria-label={`${HEAT_DEFINITIONS[heat].title}: ${run.marked ? `${counted(rows, "step")} of ` : ""}${counted(ranks, "rank")}. Arrows move, Enter selects.`}
      aria-describedby="rank-heat-readout"
      style={{ height: rowPx * rows }}
      onPointerMove={(event) => onAt(pointedCell(event, rows, ranks))}
      onPointerLeave={() => onAt(null)}
      onClick={(event) => {
        const cell = pointedCell(event, rows, ranks);
        if (cell !== null) select((cursor.current = cell));
      }}
      onFocus={(event) => {
        if (event.currentTarget.matches(":focus-visible")) onAt(cursor.current);
      }}
      onBlur={() => onAt(null)}
      onKeyDown={onKey}
    >
      <Cells {...props} />
      <LateColumns run={run} />
      {selected !== null && <Outline cell={selected} rows={rows} ranks={ranks} kind="selected" />}
      {at !== null && <Outline cell={at} rows={rows} ranks={ranks} kind="cursor" />}
    </div>
  );
}

/** Selects the step of a rank, which the panel then shows. */
function useSelect(run: RunOverview, steps: StepMatrix): (cell: Cell) => void {
  const change = useChangeRanks();
  return ({ rank, step }) =>
    change({ rank: run.ranks[rank] ?? null, at: steps.steps[step] ?? null, collective: null });
}

function pointedCell(
  event: Pick<PointerEvent, "clientX" | "clientY"> & { currentTarget: Element },
  rows: number,
  ranks: number,
): Cell | null {
  const { left, top, width, height } = event.currentTarget.getBoundingClientRect();
  return cellAt((event.clientX - left) / width, (event.clientY - top) / height, rows, ranks);
}

/** The cell that the address names, if it is in sight. */
function useSelectedCell(run: RunOverview, steps: StepMatrix): Cell | null {
  const [{ ranks: place }] = usePlace();
  const step = place.at === null ? -1 : steps.steps.indexOf(place.at);
  const rank = place.rank === null ? -1 : run.ranks.indexOf(place.rank);
  return step < 0 || rank < 0 ? null : { step, rank };
}

function Readout({ run, steps, heat, cell }: HeatMapProps & { cell: Cell }): ReactElement {
  const value = steps.values[heat]?.[cell.step]?.[cell.rank] ?? null;
  const whole = steps.values.duration?.[cell.step]?.[cell.rank] ?? null;
  const name = stepLabel(steps.steps[cell.step] ?? "");
  return (
    <>
      rank {run.ranks[cell.rank]}
      {run.marked && (
        <>
          , step <bdi>{name.slice(0, 80)}</bdi>
        </>
      )}
      :{" "}
      {value === null ? (
        "its trace has no such step"
      ) : (
        <>
          {HEAT_DEFINITIONS[heat].title} <strong>{duration(value)}</strong>,{" "}
          {percent(ratio(value, whole))} of {duration(whole)}
        </>
      )}
    </>
  );
}
