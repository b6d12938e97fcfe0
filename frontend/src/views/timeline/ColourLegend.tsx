import type { ReactElement } from "react";

import type { WireTimeline } from "../../api/types";
import { Term } from "../../components/Tip";
import { PATH_DEFINITIONS, PATH_PARTS } from "../../report/criticalPath";
import { colourOf, PATH_COLOURS } from "../../theme/colours";

/** What the colours of the critical path mean; nothing where there is no such lane. */
export function PathLegend({ timeline }: { timeline: WireTimeline }): ReactElement | null {
  if (!timeline.lanes.some(({ kind, note }) => kind === "path" && note === null)) return null;
  return (
    <ul className="path-legend" aria-label="Colours of the critical path">
      <li className="muted">critical path</li>
      {PATH_PARTS.map((part) => (
        <li key={part}>
          <span className="swatch" style={{ background: colourOf(PATH_COLOURS[part]) }} />
          <Term text={PATH_DEFINITIONS[part].text}>{PATH_DEFINITIONS[part].title}</Term>
        </li>
      ))}
    </ul>
  );
}
