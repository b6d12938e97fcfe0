import type { ReactElement } from "react";

import type { Definition } from "../text/definitions";
import { durationParts } from "../text/formats";
import { Term } from "./Tip";

interface FigureProps {
  definition: Definition;
  number: string;
  unit?: string;
  tone?: "plain" | "backward" | "look";
  /** Said after the title, as in "mean of 3". */
  note?: string | undefined;
}

/** One of the figures above the fold. */
export function Figure({
  definition,
  number,
  unit,
  tone = "plain",
  note,
}: FigureProps): ReactElement {
  return (
    <div className={`figure ${tone}`}>
      <dt>
        <Term text={definition.text}>{definition.title}</Term>
        {note !== undefined && note !== "" && <span> · {note}</span>}
      </dt>
      <dd>
        {number}
        <Unit text={unit ?? ""} />
      </dd>
    </div>
  );
}

type DurationFigureProps = Omit<FigureProps, "number" | "unit"> & {
  /** Microseconds. */
  us: number | null | undefined;
  /** Said after the unit, as in "/step". */
  per?: string;
};

/** A figure that is a duration: its unit is smaller than the number. */
export function DurationFigure({ us, per = "", ...rest }: DurationFigureProps): ReactElement {
  const [number, unit] = durationParts(us);
  return <Figure {...rest} number={number} unit={unit === "" ? "" : unit + per} />;
}

/** The unit after a figure: a word after a space, a sign such as % without. */
export function Unit({ text }: { text: string }): ReactElement | null {
  if (text === "") return null;
  return (
    <span className="unit">
      {/^[%×]/.test(text) ? "" : " "}
      {text}
    </span>
  );
}
