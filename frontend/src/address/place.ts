import type { Averaging } from "../report/measures";
import type { Sort } from "../text/numbers";
import {
  compareFromQuery,
  compareToQuery,
  NO_COMPARE,
  type ComparePlace,
} from "../views/compare/address";
import {
  kernelsFromQuery,
  kernelsToQuery,
  NO_KERNELS,
  type KernelsPlace,
} from "../views/kernels/address";
import {
  memoryFromQuery,
  memoryToQuery,
  NO_MEMORY,
  type MemoryPlace,
} from "../views/memory/address";
import {
  modulesFromQuery,
  modulesToQuery,
  NO_MODULES,
  type ModulesPlace,
} from "../views/modules/address";
import {
  NO_OPERATORS,
  operatorsFromQuery,
  operatorsToQuery,
  type OperatorsPlace,
} from "../views/operators/address";
import { NO_RANKS, ranksFromQuery, ranksToQuery, type RanksPlace } from "../views/ranks/address";
import {
  NO_TIMELINE,
  timelineFromQuery,
  timelineToQuery,
  type TimelinePlace,
} from "../views/timeline/address";
import {
  NO_WHATIF,
  whatIfFromQuery,
  whatIfToQuery,
  type WhatIfPlace,
} from "../views/whatif/address";

export const VIEWS = [
  "summary",
  "modules",
  "syncs",
  "operators",
  "kernels",
  "timeline",
  "memory",
  "ranks",
  "history",
  "findings",
  "whatif",
  "query",
  "compare",
] as const;
export type View = (typeof VIEWS)[number];

/** What views were called in older addresses. */
const ONCE: Readonly<Record<string, View>> = { backward: "modules" };

/** Everything that a shared address brings back. */
export interface Place extends ModulesPlace, TimelinePlace {
  view: View;
  run: string | null;
  worker: string | null;
  trace: string | null;
  step: string | null;
  averaging: Averaging;
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
  /** Id of the event selected in the timeline. */
  event: string | null;
  /** The query that is answered. */
  sql: string | null;
  /** "run": it is asked of all traces of the run, else of one trace. */
  scope: string | null;
  operators: OperatorsPlace;
  kernels: KernelsPlace;
  compare: ComparePlace;
  whatIf: WhatIfPlace;
  memory: MemoryPlace;
  ranks: RanksPlace;
}

export const START: Place = {
  ...NO_MODULES,
  ...NO_TIMELINE,
  view: "summary",
  run: null,
  worker: null,
  trace: null,
  step: null,
  averaging: "mean",
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
  event: null,
  sql: null,
  scope: null,
  operators: NO_OPERATORS,
  kernels: NO_KERNELS,
  compare: NO_COMPARE,
  whatIf: NO_WHATIF,
  memory: NO_MEMORY,
  ranks: NO_RANKS,
};

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
  "sql",
  "scope",
] as const;

/** `#/syncs?run=vit&step=ProfilerStep%235`; what is at its default is left out. */
export function placeToHash(place: Place): string {
  const query = new URLSearchParams();
  for (const key of NAMED) {
    const value = place[key];
    if (value !== null) query.set(key, value);
  }
  if (place.averaging !== START.averaging) query.set("per", place.averaging);
  modulesToQuery(place, query);
  if (place.search !== "") query.set("q", place.search);
  if (place.sort !== null)
    query.set("sort", `${place.sort.descending ? "-" : ""}${place.sort.key}`);
  timelineToQuery(place, query);
  operatorsToQuery(place.operators, query);
  kernelsToQuery(place.kernels, query);
  compareToQuery(place.compare, query);
  whatIfToQuery(place.whatIf, query);
  memoryToQuery(place.memory, query);
  ranksToQuery(place.ranks, query);
  const text = query.toString();
  return `#/${place.view}${text === "" ? "" : `?${text}`}`;
}

/** Read an address; what it does not say, or says wrongly, is at its default. */
export function placeFromHash(hash: string): Place {
  const [path = "", text = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const query = new URLSearchParams(text);
  const place: Place = { ...START, ...modulesFromQuery(query), ...timelineFromQuery(query) };
  place.view = VIEWS.find((view) => view === path) ?? ONCE[path] ?? START.view;
  for (const key of NAMED) place[key] = query.get(key);
  place.averaging = query.get("per") === "total" ? "total" : "mean";
  place.search = query.get("q") ?? "";
  place.sort = sortFrom(query.get("sort"));
  place.operators = operatorsFromQuery(query);
  place.kernels = kernelsFromQuery(query);
  place.compare = compareFromQuery(query);
  place.whatIf = whatIfFromQuery(query);
  place.memory = memoryFromQuery(query);
  place.ranks = ranksFromQuery(query);
  return place;
}

function sortFrom(text: string | null): Sort | null {
  if (text === null || !/^-?[a-z_]+$/.test(text)) return null;
  return { key: text.replace("-", ""), descending: text.startsWith("-") };
}

function splitOnce(text: string, at: string): string[] {
  const index = text.indexOf(at);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}
