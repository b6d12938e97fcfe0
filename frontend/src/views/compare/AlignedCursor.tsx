import { type KeyboardEvent, type PointerEvent, type ReactElement, useState } from "react";

import { within, zoomed } from "../../parts/lanes/Movement";
import { AXIS_PX, heightOf } from "../../parts/lanes/draw";
import { clip, counted, duration } from "../../text/formats";
import { shortKernelName } from "../../text/kernelName";
import { lengthOf, type Span } from "../../text/span";
import {
  type AlignedRow,
  type AlignedSides,
  type AlignedStep,
  blockAt,
  type BlockAt,
  type Differing,
  ROW_TITLES,
  type SideName,
  SIDES,
} from "./aligned";
import { changeOf } from "./changes";

interface AlignedCursorProps {
  rows: readonly AlignedRow[];
  rowPx: number;
  shown: AlignedSides;
  steps: Readonly<Record<SideName, AlignedStep>>;
  /** Modules that differ, by name. */
  marks: Readonly<Record<SideName, ReadonlyMap<string, Differing>>>;
  view: { span: Span; bounds: Span; onSpan: (span: Span | null) => void };
  /** Takes the id of a row of the comparison. */
  onSelect: (row: string) => void;
}

/** A row of the picture, and a time after the start of the step. */
interface At {
  readonly row: number;
  readonly us: number;
}

/** Shares of what is in view that an arrow moves by, alone and with Shift. */
const [MOVE, LONG_MOVE] = [0.01, 0.1];

/** A line over both sides where the pointer or the keyboard is, and what both do there. */
export function AlignedCursor(props: AlignedCursorProps): ReactElement {
  const { rows, rowPx, view } = props;
  const [at, setAt] = useState<At | null>(null);
  const { span } = view;
  const row = rows[at?.row ?? 0];
  const found = at === null || row === undefined ? null : bothAt(props, row, at.us);
  const select = (): void => {
    const id = row === undefined ? null : (markOf(props, row.side, found?.[row.side])?.row ?? null);
    if (id !== null) props.onSelect(id);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const from = at ?? { row: 0, us: (span.from + span.to) / 2 };
    const next = moveOf(event, from, span, rows.length);
    const zoom = ZOOMS[event.key];
    if (event.key === "Enter" || event.key === " ") select();
    else if (zoom !== undefined) view.onSpan(within(zoomed(span, zoom, from.us), view.bounds));
    else if (next !== null) setAt(next);
    else return;
    event.preventDefault();
  };
  const share = at === null ? null : (at.us - span.from) / lengthOf(span);
  return (
    <>
      <div
        className="aligned-cursor"
        style={{ height: heightOf({ rows, rowPx }) }}
        role="application"
        tabIndex={0}
        aria-label="Both steps on one axis of time. Arrows move through time and lanes, plus and minus zoom, Enter opens a module that differs."
        aria-describedby="aligned-readout"
        onPointerMove={(event) => setAt(pointed(event, props))}
        onPointerLeave={() => setAt(null)}
        onClick={select}
        onKeyDown={onKey}
      >
        {at !== null && share !== null && share >= 0 && share <= 1 && (
          <>
            <span className="aligned-line" style={{ left: `${share * 100}%` }} />
            <span
              className="aligned-row"
              style={{ top: AXIS_PX + at.row * rowPx, height: rowPx }}
            />
          </>
        )}
      </div>
      <p id="aligned-readout" className="aligned-readout" role="status">
        {at === null || row === undefined || found === null ? (
          <Hint />
        ) : (
          <>
            <strong>{duration(at.us)}</strong> <span className="muted">{ROW_TITLES[row.kind]}</span>
            {SIDES.map((side) => {
              const block = found[side];
              return <Said key={side} {...{ side, block, mark: markOf(props, side, block) }} />;
            })}
          </>
        )}
      </p>
    </>
  );
}

function Hint(): ReactElement {
  return (
    <span className="muted">
      Point at a block, or reach the picture by Tab. Underlined modules take{" "}
      <span className="difference-key more">more</span> or{" "}
      <span className="difference-key less">less</span> time than before.
    </span>
  );
}

const ZOOMS: Readonly<Record<string, number>> = { "+": 0.5, "=": 0.5, "-": 2 };

function moveOf(event: KeyboardEvent, { row, us }: At, span: Span, rows: number): At | null {
  const by = lengthOf(span) * (event.shiftKey ? LONG_MOVE : MOVE);
  const moves: Readonly<Record<string, At>> = {
    ArrowLeft: { row, us: us - by },
    ArrowRight: { row, us: us + by },
    ArrowUp: { row: row - 1, us },
    ArrowDown: { row: row + 1, us },
    Home: { row, us: span.from },
    End: { row, us: span.to },
  };
  const next = moves[event.key];
  if (next === undefined) return null;
  const last = rows - 1;
  return {
    row: Math.min(Math.max(next.row, 0), last),
    us: Math.min(Math.max(next.us, span.from), span.to),
  };
}

function pointed(event: PointerEvent, { rows, rowPx, view }: AlignedCursorProps): At {
  const { left, top, width } = event.currentTarget.getBoundingClientRect();
  const row = Math.floor((event.clientY - top - AXIS_PX) / rowPx);
  const share = (event.clientX - left) / Math.max(width, 1);
  return {
    row: Math.min(Math.max(row, 0), rows.length - 1),
    us: view.span.from + share * lengthOf(view.span),
  };
}

type Both = Readonly<Record<SideName, BlockAt | null>>;

/** What both sides show at a time in the row of the same kind and place. */
function bothAt({ rows, shown, steps }: AlignedCursorProps, of: AlignedRow, us: number): Both {
  const [base = null, other = null] = SIDES.map((side) => {
    const row = rows.find(
      (one) => one.kind === of.kind && one.place === of.place && one.side === side,
    );
    const { window } = shown[side];
    const blocks = window.lanes.find(({ id }) => id === row?.lane);
    if (row === undefined || blocks === undefined || us > steps[side].length) return null;
    return blockAt(blocks, window.names, row.depth, steps[side].from + us);
  });
  return { base, other };
}

function markOf(
  { marks }: AlignedCursorProps,
  side: SideName,
  block: BlockAt | null | undefined,
): Differing | undefined {
  return block?.name == null ? undefined : marks[side].get(block.name);
}

interface SaidProps {
  side: SideName;
  block: BlockAt | null;
  mark: Differing | undefined;
}

function Said({ side, block, mark }: SaidProps): ReactElement {
  return (
    <span className="aligned-said">
      <span className="muted">{side === "base" ? "before" : "after"}</span>{" "}
      {block === null ? (
        "nothing"
      ) : (
        <>
          <bdi>
            {block.name === null
              ? counted(block.events, "event")
              : clip(shortKernelName(block.name), 80)}
          </bdi>{" "}
          <strong>{duration(block.length)}</strong>
          {mark !== undefined && ` (${changeOf(mark.change)} per step)`}
        </>
      )}
    </span>
  );
}
