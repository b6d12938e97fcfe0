import { spanFrom, spanOf, spanText, timeText, type Span } from "../../text/span";

/** What an address says of the timeline, apart from names, which all views have. */
export interface TimelinePlace {
  /** What of the timeline is in view; null all of it. */
  shown: Span | null;
  /** What of the timeline is selected, apart from an event. */
  range: Span | null;
  /** What of the timeline is marked. */
  mark: Span | null;
}

export const NO_TIMELINE: TimelinePlace = { shown: null, range: null, mark: null };

export function timelineToQuery(place: TimelinePlace, query: URLSearchParams): void {
  if (place.shown !== null) {
    query.set("from", timeText(place.shown.from));
    query.set("to", timeText(place.shown.to));
  }
  if (place.range !== null) query.set("range", spanText(place.range));
  if (place.mark !== null) query.set("mark", spanText(place.mark));
}

export function timelineFromQuery(query: URLSearchParams): TimelinePlace {
  return {
    shown: spanFrom(query.get("from"), query.get("to")),
    range: spanOf(query.get("range")),
    mark: spanOf(query.get("mark")),
  };
}
