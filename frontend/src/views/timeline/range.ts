import type { WireStatistics } from "../../api/timeline";
import { define } from "../../text/definitions";

/** What took most of a span, of one kind of lane. */
export interface Ranking {
  readonly title: string;
  readonly rows: WireStatistics["top"];
}

const TITLES = new Map<string, string>([
  ["device", "Kernels"],
  ["host", "Operators and calls"],
  ["backward", "Modules, backward"],
  ["forward", "Modules, forward"],
]);

/** Rows of each ranking on show. */
const MOST_ROWS = 8;

/** The most expensive names by kind; device work first, since that is what a sync waits for. */
export function rankings(statistics: Pick<WireStatistics, "top">): Ranking[] {
  return [...TITLES].flatMap(([kind, title]) => {
    const rows = statistics.top.filter((row) => row.kind === kind).slice(0, MOST_ROWS);
    return rows.length === 0 ? [] : [{ title, rows }];
  });
}

/** The parts of a whole that are not nothing, the largest first. */
export function partsOf(parts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(parts)
    .filter(([, us]) => us > 0)
    .sort(([, a], [, b]) => b - a);
}

/** A cause as words. */
export function causeText(cause: string): string {
  return cause.replaceAll("_", " ");
}

/** What the timeline says about a span that is selected. */
export const SPAN_DEFINITIONS = {
  length: define("length", "How long the selected span is.", "us"),
  events: define("events", "Events of host and devices that touch the span.", "count"),
  syncs: define("syncs", "How often the host waited for the device.", "count"),
  blocked: define("host blocked", "How long some thread of the host waited for the device.", "us"),
  busy: define("busy", "How long the device had work, as far as it lies in the span.", "us"),
  idle: define("idle", "How long the device had nothing to do between its work.", "us"),
  phase: define("phase", "Host time of this phase, within steps.", "us"),
  cause: define("idle by cause", "The part of the idle time that has this cause.", "us"),
  count: define("count", "How many events of this name touch the span.", "count"),
  total: define("time", "Their time in the span, what is nested in them included.", "us"),
  self: define("self", "The same without what is nested in them.", "us"),
} as const;
