import type { ReactElement } from "react";

import type { TimelineOverview } from "../../api/schema";
import { Term } from "../../components/Tip";
import { PATH_DEFINITIONS, PATH_PARTS } from "../../report/pathBar";
import {
  DEVICE_PARTS,
  DEVICE_TIME_DEFINITIONS,
  HOST_PHASE_DEFINITIONS,
  PHASES,
} from "../../report/stepBars";
import type { Definition } from "../../text/definitions";
import {
  colourOf,
  DEVICE_COLOURS,
  type Palette,
  PATH_COLOURS,
  PHASE_COLOURS,
} from "../../theme/colours";

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

type Lane = Pick<TimelineOverview["lanes"][number], "kind" | "note">;

interface LegendEntry {
  readonly colour: keyof Palette;
  readonly definition: Definition;
}

interface LegendGroup {
  readonly title: string;
  readonly entries: readonly LegendEntry[];
}

/** The colours that the lanes of a trace have, by what they are colours of. */
export function legendOf({ lanes }: { lanes: readonly Lane[] }): LegendGroup[] {
  const groups: LegendGroup[] = [];
  if (lanes.some(({ kind }) => PHASED.has(kind)))
    groups.push({ title: "phases", entries: PHASED_IN });
  if (lanes.some(({ kind }) => kind === "idle")) groups.push({ title: "idle time", entries: IDLE });
  if (lanes.some(({ kind, note }) => kind === "path" && note === null)) {
    groups.push({ title: "critical path", entries: PATH });
  }
  return groups;
}

/** Lanes whose blocks have the colour of their phase. */
const PHASED: ReadonlySet<Lane["kind"]> = new Set([
  "steps",
  "forward",
  "backward",
  "host",
  "device",
]);

const PHASED_IN: readonly LegendEntry[] = PHASES.map((phase) => ({
  colour: PHASE_COLOURS[phase],
  definition: HOST_PHASE_DEFINITIONS[phase],
}));

const IDLE: readonly LegendEntry[] = DEVICE_PARTS.filter((part) => part !== "busy").map(
  (cause) => ({
    colour: DEVICE_COLOURS[cause],
    definition: DEVICE_TIME_DEFINITIONS[cause],
  }),
);

const PATH: readonly LegendEntry[] = PATH_PARTS.map((part) => ({
  colour: PATH_COLOURS[part],
  definition: PATH_DEFINITIONS[part],
}));
