import type { TimelineOverview } from "../../api/schema";
import { PATH_DEFINITIONS, PATH_PARTS } from "../../report/criticalPath";
import {
  DEVICE_PARTS,
  DEVICE_TIME_DEFINITIONS,
  HOST_PHASE_DEFINITIONS,
  PHASES,
} from "../../report/stepBars";
import type { Definition } from "../../text/definitions";
import { DEVICE_COLOURS, PATH_COLOURS, PHASE_COLOURS, type Palette } from "../../theme/colours";

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
