import {
  compareFromQuery,
  compareToQuery,
  NO_COMPARE,
  type ComparePlace,
} from "../views/compare/address";
import { GROUPINGS, type Grouping } from "../views/modules/groups";
import { QUANTITIES, type Quantity } from "../views/modules/lens";
import type { Averaging, Measure } from "../report/measures";
import { spanFrom, spanOf, spanText, timeText, type Span } from "../text/span";
import type { Sort } from "../views/modules/treeRows";

export const VIEWS = ["summary", "backward", "syncs", "timeline", "findings", "compare"] as const;
export type View = (typeof VIEWS)[number];

/** Everything that a shared address brings back. */
export interface Place {
  view: View;
  run: string | null;
  worker: string | null;
  trace: string | null;
  step: string | null;
  averaging: Averaging;
  /** What of the modules' time is shown, and whose; null what suits the trace. */
  quantity: Quantity | null;
  clock: Measure | null;
  group: Grouping;
  /** Whether the forward stands beside what is shown. */
  beside: boolean;
  /** Path of the selected module; "" is an unnamed root, null none. */
  module: string | null;
  /** Label of the selected group of modules. */
  picked: string | null;
  /** Path of the module that fills the icicle. */
  zoom: string | null;
  /** Id of the selected host-blocking call. */
  sync: string | null;
  phase: string | null;
  cause: string | null;
  /** Id of the opened finding; "" none, null the first. */
  finding: string | null;
  severity: string | null;
  confidence: string | null;
  rule: string | null;
  /** Path of the module that findings are about, or what stands for none. */
  about: string | null;
  search: string;
  sort: Sort | null;
  /** What of the timeline is in view; null all of it. */
  shown: Span | null;
  /** What of the timeline is selected, apart from an event. */
  range: Span | null;
  /** What of the timeline is marked. */
  mark: Span | null;
  /** Id of the event selected in the timeline. */
  event: string | null;
  compare: ComparePlace;
}

export const START: Place = {
  view: "summary",
  run: null,
  worker: null,
  trace: null,
  step: null,
  averaging: "mean",
  quantity: null,
  clock: null,
  group: "instance",
  beside: false,
  module: null,
  picked: null,
  zoom: null,
  sync: null,
  phase: null,
  cause: null,
  finding: null,
  severity: null,
  confidence: null,
  rule: null,
  about: null,
  search: "",
  sort: null,
  shown: null,
  range: null,
  mark: null,
  event: null,
  compare: NO_COMPARE,
};

const CLOCKS = ["device", "host"] as const;

const NAMED = [
  "run",
  "worker",
  "trace",
  "step",
  "module",
  "picked",
  "zoom",
  "sync",
  "phase",
  "cause",
  "finding",
  "severity",
  "confidence",
  "rule",
  "about",
  "event",
] as const;

/** `#/syncs?run=vit&step=ProfilerStep%235`; what is at its default is left out. */
export function placeToHash(place: Place): string {
  const query = new URLSearchParams();
  for (const key of NAMED) {
    const value = place[key];
    if (value !== null) query.set(key, value);
  }
  if (place.averaging !== START.averaging) query.set("per", place.averaging);
  if (place.quantity !== null) query.set("measure", place.quantity);
  if (place.clock !== null) query.set("clock", place.clock);
  if (place.group !== START.group) query.set("group", place.group);
  if (place.beside) query.set("beside", "forward");
  if (place.search !== "") query.set("q", place.search);
  if (place.sort !== null)
    query.set("sort", `${place.sort.descending ? "-" : ""}${place.sort.key}`);
  if (place.shown !== null) {
    query.set("from", timeText(place.shown.from));
    query.set("to", timeText(place.shown.to));
  }
  if (place.range !== null) query.set("range", spanText(place.range));
  if (place.mark !== null) query.set("mark", spanText(place.mark));
  compareToQuery(place.compare, query);
  const text = query.toString();
  return `#/${place.view}${text === "" ? "" : `?${text}`}`;
}

/** Read an address; what it does not say, or says wrongly, is at its default. */
export function placeFromHash(hash: string): Place {
  const [path = "", text = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const query = new URLSearchParams(text);
  const place: Place = { ...START };
  place.view = VIEWS.find((view) => view === path) ?? START.view;
  for (const key of NAMED) place[key] = query.get(key);
  place.averaging = query.get("per") === "total" ? "total" : "mean";
  place.quantity = QUANTITIES.find((name) => name === query.get("measure")) ?? null;
  place.clock = CLOCKS.find((name) => name === query.get("clock")) ?? null;
  place.group = GROUPINGS.find((name) => name === query.get("group")) ?? START.group;
  place.beside = query.get("beside") === "forward";
  place.search = query.get("q") ?? "";
  place.sort = sortFrom(query.get("sort"));
  place.shown = spanFrom(query.get("from"), query.get("to"));
  place.range = spanOf(query.get("range"));
  place.mark = spanOf(query.get("mark"));
  place.compare = compareFromQuery(query);
  return place;
}

function sortFrom(text: string | null): Sort | null {
  if (text === null || !/^-?[a-z]+$/.test(text)) return null;
  return { key: text.replace("-", ""), descending: text.startsWith("-") };
}

function splitOnce(text: string, at: string): string[] {
  const index = text.indexOf(at);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}
