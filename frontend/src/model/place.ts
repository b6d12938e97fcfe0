import type { Averaging } from "./measures";
import type { Sort } from "./treeRows";

export const VIEWS = ["backward", "syncs"] as const;
export type View = (typeof VIEWS)[number];

/** Everything that a shared address brings back. */
export interface Place {
  view: View;
  run: string | null;
  worker: string | null;
  trace: string | null;
  step: string | null;
  averaging: Averaging;
  /** Path of the selected module; "" is an unnamed root, null none. */
  module: string | null;
  /** Path of the module that fills the icicle. */
  zoom: string | null;
  /** Id of the selected host-blocking call. */
  sync: string | null;
  phase: string | null;
  cause: string | null;
  search: string;
  sort: Sort | null;
}

export const START: Place = {
  view: "backward",
  run: null,
  worker: null,
  trace: null,
  step: null,
  averaging: "mean",
  module: null,
  zoom: null,
  sync: null,
  phase: null,
  cause: null,
  search: "",
  sort: null,
};

const NAMED = [
  "run",
  "worker",
  "trace",
  "step",
  "module",
  "zoom",
  "sync",
  "phase",
  "cause",
] as const;

/** `#/syncs?run=vit&step=ProfilerStep%235`; what is at its default is left out. */
export function placeToHash(place: Place): string {
  const query = new URLSearchParams();
  for (const key of NAMED) {
    const value = place[key];
    if (value !== null) query.set(key, value);
  }
  if (place.averaging !== START.averaging) query.set("per", place.averaging);
  if (place.search !== "") query.set("q", place.search);
  if (place.sort !== null)
    query.set("sort", `${place.sort.descending ? "-" : ""}${place.sort.key}`);
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
  place.search = query.get("q") ?? "";
  place.sort = sortFrom(query.get("sort"));
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
