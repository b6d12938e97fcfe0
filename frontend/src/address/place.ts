import type { Sort } from "../text/numbers";
import { field, oneOf, record, search, text, type Read } from "../text/query";
import { COMPARE } from "../views/compare/address";
import { KERNELS } from "../views/kernels/address";
import { MEMORY } from "../views/memory/address";
import { MODULES } from "../views/modules/address";
import { OPERATORS } from "../views/operators/address";
import { RANKS } from "../views/ranks/address";
import { TIMELINE } from "../views/timeline/address";
import { WHATIF } from "../views/whatif/address";

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

const SORT = field<Sort | null>(
  "sort",
  null,
  (value) =>
    /^-?[a-z_]+$/.test(value)
      ? { key: value.replace("-", ""), descending: value.startsWith("-") }
      : undefined,
  (sort) => (sort === null ? "" : `${sort.descending ? "-" : ""}${sort.key}`),
);

/** Everything that a shared address brings back, apart from the view. */
const QUERY = record({
  run: text("run"),
  worker: text("worker"),
  trace: text("trace"),
  step: text("step"),
  /** Path of the selected module; "" is an unnamed root, null none. */
  module: text("module"),
  /** Label of the selected group of modules. */
  picked: text("picked"),
  /** Path of the module that fills the icicle. */
  zoom: text("zoom"),
  /** Id of the selected host-blocking call. */
  sync: text("sync"),
  phase: text("phase"),
  cause: text("cause"),
  /** Id of the opened finding; "" none, null the first. */
  finding: text("finding"),
  severity: text("severity"),
  confidence: text("confidence"),
  rule: text("rule"),
  /** Path of the module that findings are about, or what stands for none. */
  about: text("about"),
  /** Id of the event selected in the timeline. */
  event: text("event"),
  /** The query that is answered. */
  sql: text("sql"),
  /** "run": it is asked of all traces of the run, else of one trace. */
  scope: text("scope"),
  averaging: oneOf("per", ["mean", "total"], "mean"),
  ...MODULES,
  search: search("q"),
  sort: SORT,
  ...TIMELINE,
  operators: OPERATORS,
  kernels: KERNELS,
  compare: COMPARE,
  whatIf: WHATIF,
  memory: MEMORY,
  ranks: RANKS,
});

export type Place = Read<typeof QUERY> & { readonly view: View };

export const START: Place = { view: "summary", ...QUERY.start };

/** `#/syncs?run=vit&step=ProfilerStep%235`; what is at its default is left out. */
export function placeToHash(place: Place): string {
  const query = new URLSearchParams();
  QUERY.write(place, query);
  const said = query.toString();
  return `#/${place.view}${said === "" ? "" : `?${said}`}`;
}

/** Read an address; what it does not say, or says wrongly, is at its default. */
export function placeFromHash(hash: string): Place {
  const [path = "", query = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const view = VIEWS.find((known) => known === path) ?? ONCE[path] ?? START.view;
  return { view, ...QUERY.read(new URLSearchParams(query)) };
}

function splitOnce(text: string, at: string): string[] {
  const index = text.indexOf(at);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}
