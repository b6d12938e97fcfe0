import type { CSSProperties, ReactElement, ReactNode } from "react";

import type { ReportData } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { SmallTable } from "../../components/SmallTable";
import { Term } from "../../components/Tip";
import { stack } from "../../components/charts";
import { perText, type PriceBasis } from "../../report/findings";
import { meansNote } from "../../report/measures";
import { PATH_DEFINITIONS, type PathPart } from "../../report/pathBar";
import {
  duration,
  durationScale,
  NOTHING,
  percent,
  scaledDuration,
  unbroken,
} from "../../text/formats";
import { capitalized } from "../../text/names";
import { colourOf, PATH_COLOURS } from "../../theme/colours";
import {
  answerText,
  gainText,
  hostClockText,
  type PathRow,
  type Prediction,
  wholeOf,
} from "./answer";
import { WHATIF_DEFINITIONS as D } from "./definitions";

interface AnswerProps {
  prediction: Prediction;
  changed: boolean;
  /** Whether another answer is awaited. */
  stale: boolean;
  report: ReportData;
}

/** A step before and after, what it consists of, and how sure that is. */
export function Answer({ prediction, changed, stale, report }: AnswerProps): ReactElement {
  const hostClock = hostClockText(report);
  return (
    <div className={stale ? "whatif-body stale" : "whatif-body"}>
      <Figures prediction={prediction} changed={changed} report={report} />
      <p className="verdict whatif-verdict" role="status">
        {unbroken(answerText(prediction, changed, perText(report)))}
      </p>
      <div className="whatif-pictures">
        <div className="whatif-bars">
          <Bar title={D.now} prediction={prediction} side="before" />
          {changed ? (
            <Bar title={D.then} prediction={prediction} side="after" />
          ) : (
            <p className="muted whatif-empty">
              Take out a finding or change a factor below: what a replay predicts appears here.
            </p>
          )}
          <p className="muted whatif-bound">
            {hostClock !== null && (
              <>
                {hostClock}
                <br />
              </>
            )}
            Estimate by trace replay: it knows only what the trace shows.
            <br />
            <Term text={D.error.text}>{D.error.title}</Term> {percent(prediction.error)} ·{" "}
            <Term text={D.launches.text}>{D.launches.title}</Term>{" "}
            {percent(prediction.launchesKnown)}
          </p>
        </div>
        <PathTable prediction={prediction} changed={changed} per={perText(report)} />
      </div>
    </div>
  );
}

function Figures({ prediction, changed, report }: Omit<AnswerProps, "stale">): ReactElement {
  const { before, after, decides } = prediction;
  return (
    <dl className="figures">
      <DurationFigure definition={D.now} us={before} note={meansNote(report)} />
      <DurationFigure
        definition={D.then}
        us={changed ? after : null}
        note={changed ? gainText(prediction) : "nothing changed"}
      />
      <Figure
        definition={changed ? D.decides : { ...D.decides, title: "bottleneck" }}
        number={PATH_DEFINITIONS[decides.part].title}
        note={`${percent(decides.share)} of the critical path`}
      />
    </dl>
  );
}

interface BarProps {
  title: { title: string; text: string };
  prediction: Prediction;
  side: "before" | "after";
}

/** A narrower gap than this share of the bar has no room for words. */
const WORTH_A_WORD = 0.25;

/** A step as one bar, that of a prediction with the range between its bounds below. */
function Bar({ title, prediction, side }: BarProps): ReactElement {
  const whole = wholeOf(prediction);
  const { low, high, parts } = prediction;
  const us = prediction[side];
  const saved = side === "after" ? prediction.before - us : 0;
  const known = new Map(parts.map((row) => [row.part, row]));
  const blocks = stack(
    parts.map((row) => ({ key: row.part, us: row[side] })),
    whole,
  );
  return (
    <div className="whatif-bar" role="img" aria-label={barText(title.title, us, parts, side)}>
      <span className="whatif-bar-title">{title.title}</span>
      <span className="whatif-track">
        {blocks.map(({ key, start, length }) => (
          <span
            key={key}
            className={key === "unexplained" ? "whatif-block striped" : "whatif-block"}
            style={at(start, length, key)}
            title={`${PATH_DEFINITIONS[key].title} ${duration(known.get(key)?.[side])}`}
          />
        ))}
        {saved > 0 && (
          <span className="whatif-saved" style={at(us / whole, saved / whole)}>
            {saved / whole > WORTH_A_WORD && <span>{duration(saved)} less</span>}
          </span>
        )}
        {side === "after" && (
          <span className="whatif-range" style={at(low / whole, (high - low) / whole)} />
        )}
      </span>
      <span className="whatif-length">{duration(us)}</span>
    </div>
  );
}

function at(start: number, length: number, part?: PathPart): CSSProperties {
  const place = { insetInlineStart: `${start * 100}%`, inlineSize: `${length * 100}%` };
  return part === undefined ? place : { ...place, color: colourOf(PATH_COLOURS[part]) };
}

function barText(
  title: string,
  us: number,
  parts: readonly PathRow[],
  side: "before" | "after",
): string {
  const said = parts
    .filter((row) => row[side] > 0)
    .map((row) => `${PATH_DEFINITIONS[row.part].title} ${duration(row[side])}`);
  return `${title}, ${duration(us)}: ${said.join(", ")}`;
}

/** The critical path by what passed its time: the legend of the bars, with every number. */
interface PathTableProps extends Pick<AnswerProps, "prediction" | "changed"> {
  per: PriceBasis["per"];
}

function PathTable({ prediction, changed, per }: PathTableProps): ReactElement {
  const scale = durationScale(wholeOf(prediction));
  // What is not on the path has no ink.
  const cell = (us: number): string => (us === 0 ? NOTHING : scaledDuration(us, scale));
  return (
    <SmallTable
      className="whatif-path"
      rows={prediction.parts}
      keyOf={({ part }) => part}
      columns={[
        [
          `critical path ${per}`,
          ({ part }) => (
            <>
              <span
                className={part === "unexplained" ? "swatch striped" : "swatch"}
                style={{ color: colourOf(PATH_COLOURS[part]) }}
              />
              <Term text={PATH_DEFINITIONS[part].text}>{PATH_DEFINITIONS[part].title}</Term>
            </>
          ),
        ],
        [D.now, ({ before }) => cell(before)],
        [D.then, ({ after }) => (changed ? cell(after) : NOTHING)],
      ]}
    />
  );
}

/** In place of the answer while the first one is awaited; as high as that. */
export function Pending(): ReactElement {
  return (
    <p className="whatif-none muted" role="status">
      Replaying…
    </p>
  );
}

interface RefusedProps {
  title: string;
  why: string;
  children?: ReactNode;
}

/** A reason is a phrase: as a sentence it begins large and ends with a full stop. */
function sentence(phrase: string): string {
  return `${capitalized(phrase)}${phrase.endsWith(".") ? "" : "."}`;
}

/** In place of the answer where there is none. */
export function Refused({ title, why, children }: RefusedProps): ReactElement {
  return (
    <div className="whatif-none" role="alert">
      <h2>{title}</h2>
      <p className="whatif-why">{sentence(why)}</p>
      {children}
    </div>
  );
}
