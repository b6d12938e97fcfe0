import type { ReactElement } from "react";

import type { Definition } from "../text/definitions";
import { Term } from "./Tip";

interface FigureProps {
  definition: Definition;
  number: string;
  unit?: string;
  tone?: "plain" | "backward" | "look";
  /** Said after the title, as in "mean of 3". */
  note?: string;
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
        {unit !== undefined && unit !== "" && <span className="unit"> {unit}</span>}
      </dd>
    </div>
  );
}
