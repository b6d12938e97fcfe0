import type { ReactElement } from "react";

import type { Definition } from "../text/definitions";
import type { Place } from "../address/place";
import { colourOf, type Palette } from "../theme/colours";
import { PlaceLink } from "./PlaceLink";

export interface LegendEntry {
  key: string;
  definition: Definition;
  colour: keyof Palette;
  /** How much of it there is, and what to say of that. */
  value: string;
  note: string;
  /** Where the number comes from. */
  to: Partial<Place>;
}

/** What the colours of a chart mean, with how much of each there is. */
export function Legend({ entries }: { entries: readonly LegendEntry[] }): ReactElement {
  return (
    <ul className="legend">
      {entries.map(({ key, definition, colour, value, note, to }) => (
        <li key={key}>
          <PlaceLink to={to} className="legend-entry" title={definition.text}>
            <span className="swatch" style={{ background: colourOf(colour) }} />
            {definition.title}
            <strong>{value}</strong>
            {note !== "" && <span className="muted">{note}</span>}
          </PlaceLink>
        </li>
      ))}
    </ul>
  );
}
