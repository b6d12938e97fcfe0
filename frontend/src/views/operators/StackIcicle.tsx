import { useMemo, useState, type CSSProperties, type ReactElement } from "react";

import type { Target } from "../../api/request";
import { useWidth } from "../../components/browser";
import { numberOf, rowsOf, textOf, useRows } from "../../parts/serverTable/rows";
import { clip, duration, percent } from "../../text/formats";
import { barsOf, framesOf, sandwich, stackTree, type Bar, type Frame } from "./stackTree";

/** Rows of the table that are added up, the most expensive ones. */
const MOST_ROWS = 400;
const MOST_LEVELS = 12;
/** Of what calls a frame, where one is looked at. */
const CALLERS = 4;
const LEVEL_PX = 22;
const LEAST_BAR_PX = 2;
const LEAST_LABEL_PX = 40;

interface StackIcicleProps {
  target: Target;
  title: string;
  /** Column of the times, microseconds. */
  column: string;
  /** What the times are of: "whole trace, 3 steps". */
  of: string;
}

/** Where the time of operators comes from, from the outermost Python line inwards. */
export function StackIcicle({ target, title, column, of }: StackIcicleProps): ReactElement {
  const question = {
    table: "operators_by_stack",
    sort: [`-${column}`],
    limit: MOST_ROWS,
    columns: ["name", "stack", column],
  };
  const page = useRows(target, question).value;
  const calls = useMemo(
    () =>
      rowsOf(page).map((row) => ({
        frames: framesOf(textOf(row, "stack"), textOf(row, "name")),
        us: numberOf(row, column) ?? 0,
      })),
    [page, column],
  );
  const [name, setName] = useState<string | null>(null);
  const { callers, callees } = useMemo(
    () =>
      name === null ? { callers: null, callees: stackTree("", calls) } : sandwich(name, calls),
    [name, calls],
  );
  const whole = calls.reduce((sum, { us }) => sum + us, 0);
  return (
    <section className="facet stacks" aria-label={title} aria-busy={page === null}>
      <h2>
        {title} <span className="muted">{of}, by Python lines outside of torch</span>
      </h2>
      <p className="muted">
        {name !== null ? (
          <>
            <button type="button" className="link" onClick={() => setName(null)}>
              all stacks
            </button>{" "}
            › callers above, what it calls below: {duration(callees.us)},{" "}
            {percent(whole > 0 ? callees.us / whole : null)}
          </>
        ) : page !== null && calls.every(({ frames }) => frames.length === 1) ? (
          "The trace holds no Python stacks: record it with with_stack=True."
        ) : (
          "Width is time, the most expensive left; of lines that only call each other the last. Click one for its callers and what it calls."
        )}
      </p>
      {callers !== null && (
        <>
          <Bars top={callers} levels={CALLERS} upwards onPick={setName} />
          <p className="stack-bar chosen">
            <bdi>{clip(callers.name, 200)}</bdi>
          </p>
        </>
      )}
      <Bars
        top={callees}
        levels={callers === null ? MOST_LEVELS : MOST_LEVELS - CALLERS - 1}
        onPick={setName}
      />
    </section>
  );
}

interface BarsProps {
  top: Frame;
  levels: number;
  /** The first level lies lowest. */
  upwards?: boolean;
  onPick: (name: string) => void;
}

function Bars({ top, levels, upwards = false, onPick }: BarsProps): ReactElement {
  const [box, width] = useWidth<HTMLDivElement>();
  const bars = useMemo(
    () => barsOf(top, levels, LEAST_BAR_PX / Math.max(width, 1), !upwards),
    [top, levels, width, upwards],
  );
  return (
    <div
      ref={box}
      className="stack-bars"
      role="img"
      aria-label="Python lines by time; the table below holds the same stacks."
      style={{ height: levels * LEVEL_PX }}
    >
      {bars.map((bar) => (
        <div
          key={`${bar.level}/${bar.left}`}
          className="stack-bar"
          title={titleOf(bar, top)}
          style={styleOf(bar, upwards ? levels : null)}
          onClick={() => onPick(bar.frame.name)}
        >
          {bar.width * width >= LEAST_LABEL_PX && <bdi>{clip(bar.frame.name, 200)}</bdi>}
        </div>
      ))}
    </div>
  );
}

/** Where a bar is; counted from the last of `levels` upwards, if given. */
function styleOf({ left, width, level }: Bar, levels: number | null): CSSProperties {
  return {
    position: "absolute",
    left: `${left * 100}%`,
    width: `calc(${width * 100}% - 1px)`,
    top: (levels === null ? level : levels - 1 - level) * LEVEL_PX,
  };
}

function titleOf({ frame, width }: Bar, { name }: Frame): string {
  const of = name === "" ? "" : ` of ${clip(name, 100)}`;
  return `${clip(frame.name, 500)}\n${duration(frame.us)}, ${percent(width)}${of}`;
}
