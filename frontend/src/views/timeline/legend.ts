import type { WireTimeline } from "../../api/types";
import { PATH_DEFINITIONS, PATH_PARTS } from "../../report/criticalPath";
import { DEVICE_TIME_DEFINITIONS, HOST_PHASE_DEFINITIONS, PHASES } from "../../report/stepBars";
import { define, type Definition } from "../../text/definitions";
import { DEVICE_COLOURS, PATH_COLOURS, PHASE_COLOURS, type Palette } from "../../theme/colours";

type Lane = Pick<WireTimeline["lanes"][number], "kind" | "note">;

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

/** Causes of idle time that have no colour of their own in a lane. */
export const IDLE_LANE_DEFINITIONS = {
  others: define(
    "other causes",
    "Idle for another cause than these; a block that is pointed at says for which.",
  ),
} as const;

const IDLE: readonly LegendEntry[] = [
  ...(["sync", "data_loading", "communication"] as const).map((cause) => ({
    colour: DEVICE_COLOURS[cause],
    definition: DEVICE_TIME_DEFINITIONS[cause],
  })),
  { colour: "idle", definition: IDLE_LANE_DEFINITIONS.others },
];

const PATH: readonly LegendEntry[] = PATH_PARTS.map((part) => ({
  colour: PATH_COLOURS[part],
  definition: PATH_DEFINITIONS[part],
}));
