import { spanFrom, spanOf, spanText, timeText, type Span } from "../../text/span";

/** What an address says of the timeline, apart from names, which all views have. */
export interface TimelinePlace {
  /** What of the timeline is in view; null all of it. */
  shown: Span | null;
  /** What of the timeline is selected, apart from an event. */
  range: Span | null;
  /** What of the timeline is marked. */
  mark: Span | null;
  /** What colours events. */
  colours: Colours;
  lanes: LanesPlace;
}

export const COLOURS = ["phase", "name"] as const;
export type Colours = (typeof COLOURS)[number];

/** How much of a lane is open: its first row, some of its rows, or all of them. */
export type Opening = "folded" | "short" | "whole";

/** How the reader arranged the lanes, by their ids, which are numbers. */
export interface LanesPlace {
  /** Those that stay in sight on top. */
  readonly pinned: readonly string[];
  /** All in their order; null as the server lists them. */
  readonly order: readonly string[] | null;
  /** Those that are open otherwise than at first. */
  readonly openings: ReadonlyMap<string, Opening>;
  /** Those whose names hold this text are shown, and those that are pinned. */
  readonly filter: string;
}

export const NO_LANES: LanesPlace = { pinned: [], order: null, openings: new Map(), filter: "" };

export const NO_TIMELINE: TimelinePlace = {
  shown: null,
  range: null,
  mark: null,
  colours: "phase",
  lanes: NO_LANES,
};

export function timelineToQuery(place: TimelinePlace, query: URLSearchParams): void {
  if (place.shown !== null) {
    query.set("from", timeText(place.shown.from));
    query.set("to", timeText(place.shown.to));
  }
  if (place.range !== null) query.set("range", spanText(place.range));
  if (place.mark !== null) query.set("mark", spanText(place.mark));
  if (place.colours !== NO_TIMELINE.colours) query.set("colours", place.colours);
  lanesToQuery(place.lanes, query);
}

function lanesToQuery(
  { pinned, order, openings, filter }: LanesPlace,
  query: URLSearchParams,
): void {
  if (pinned.length > 0) query.set("pin", pinned.join("."));
  if (order !== null) query.set("lanes", order.join("."));
  const open = [...openings].map(([id, opening]) => `${id}-${opening}`);
  if (open.length > 0) query.set("open", open.join("."));
  if (filter !== "") query.set("lanefilter", filter);
}

function lanesFromQuery(query: URLSearchParams): LanesPlace {
  const ids = (name: string): string[] =>
    (query.get(name) ?? "").split(".").filter((id) => /^\d+$/.test(id));
  const order = ids("lanes");
  const open = (query.get("open") ?? "").split(".").flatMap((text) => {
    const found = /^(\d+)-(folded|short|whole)$/.exec(text);
    return found === null ? [] : [[found[1] ?? "", found[2] as Opening] as const];
  });
  return {
    pinned: ids("pin"),
    order: order.length === 0 ? null : order,
    openings: new Map(open),
    filter: query.get("lanefilter") ?? "",
  };
}

export function timelineFromQuery(query: URLSearchParams): TimelinePlace {
  return {
    shown: spanFrom(query.get("from"), query.get("to")),
    range: spanOf(query.get("range")),
    mark: spanOf(query.get("mark")),
    colours: COLOURS.find((name) => name === query.get("colours")) ?? NO_TIMELINE.colours,
    lanes: lanesFromQuery(query),
  };
}
