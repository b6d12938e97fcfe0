import type { ReactElement } from "react";

import type { TimelineOverview } from "../../api/schema";
import { Term } from "../../components/Tip";
import { colourOf } from "../../theme/colours";
import { legendOf } from "./legend";

interface ColourLegendProps {
  timeline: TimelineOverview;
  /** Whether threads and streams have the colours of names. */
  byName: boolean;
}

/** What the colours of phases, of idle time and of the critical path mean. */
export function ColourLegend({ timeline, byName }: ColourLegendProps): ReactElement {
  return (
    <div className="colour-legends">
      {byName && (
        <p className="muted">Threads and streams: one name, one colour; colours may repeat.</p>
      )}
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
