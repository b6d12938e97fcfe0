import type { ReactElement } from "react";

import type { WireTimeline } from "../../api/types";
import { Term } from "../../components/Tip";
import { colourOf } from "../../theme/colours";
import { legendOf } from "./legend";

/** What the colours of phases, of idle time and of the critical path mean. */
export function ColourLegend({ timeline }: { timeline: WireTimeline }): ReactElement {
  return (
    <div className="colour-legends">
      {legendOf(timeline).map(({ title, entries }) => (
        <ul key={title} className="colour-legend" aria-label={`Colours of the ${title}`}>
          <li className="muted">{title}</li>
          {entries.map(({ colour, definition }) => (
            <li key={definition.title}>
              <span className="swatch" style={{ background: colourOf(colour) }} />
              <Term text={definition.text}>{definition.title}</Term>
            </li>
          ))}
        </ul>
      ))}
    </div>
  );
}
