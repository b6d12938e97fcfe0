import { spanFrom, spanOf, spanText, timeText, type Span } from "../../text/span";
import { field, oneOf, type Codec } from "../../text/query";

export const COLOURS = ["phase", "name"] as const;
export type Colours = (typeof COLOURS)[number];

/** How much of a lane is open: its first row, some of its rows, or all of them. */
export type Opening = "folded" | "short" | "whole";

/** What of the timeline is in view; null all of it. */
const SHOWN: Codec<Span | null> = {
  start: null,
  write: (shown, query) => {
    if (shown === null) return;
    query.set("from", timeText(shown.from));
    query.set("to", timeText(shown.to));
  },
  read: (query) => spanFrom(query.get("from"), query.get("to")),
};

function span(name: string): Codec<Span | null> {
  return field<Span | null>(
    name,
    null,
    (text) => spanOf(text) ?? undefined,
    (value) => (value === null ? "" : spanText(value)),
  );
}

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

export const LANES: Codec<LanesPlace> = {
  start: { pinned: [], order: null, openings: new Map(), filter: "" },
  write: ({ pinned, order, openings, filter }, query) => {
    if (pinned.length > 0) query.set("pin", pinned.join("."));
    if (order !== null) query.set("lanes", order.join("."));
    const open = [...openings].map(([id, opening]) => `${id}-${opening}`);
    if (open.length > 0) query.set("open", open.join("."));
    if (filter !== "") query.set("lanefilter", filter);
  },
  read: (query) => {
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
  },
};

/** What an address says of the timeline, apart from names, which all views have. */
export const TIMELINE = {
  shown: SHOWN,
  /** What of the timeline is selected, apart from an event. */
  range: span("range"),
  /** What of the timeline is marked. */
  mark: span("mark"),
  /** What colours events. */
  colours: oneOf("colours", COLOURS, "phase"),
  lanes: LANES,
};
