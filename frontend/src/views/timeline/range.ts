import type { WindowStatistics } from "../../api/schema";
import { define } from "../../text/definitions";

type TopEntry = WindowStatistics["top"][number];

/** What took most of a span, of one kind of lane. */
export interface Ranking {
  readonly kind: TopEntry["kind"];
  readonly title: string;
  /** Whose time it is. */
  readonly measure: TopEntry["measure"];
  /** Names that are not in `rows`. */
  readonly more: number;
  readonly rows: readonly TopEntry[];
}

const TITLES = new Map<TopEntry["kind"], string>([
  ["device", "Kernels"],
  ["host", "Operators and calls"],
  ["backward", "Modules, backward"],
  ["forward", "Modules, forward"],
]);

/** Rows of each ranking on show. */
const MOST_ROWS = 8;

/** The most expensive names by kind; device events first, since that is what a sync waits for. */
export function rankings(statistics: Pick<WindowStatistics, "top" | "omitted">): Ranking[] {
  return [...TITLES].flatMap(([kind, title]) => {
    const all = statistics.top.filter((row) => row.kind === kind);
    const rows = all.slice(0, MOST_ROWS);
    const more = all.length - rows.length + (statistics.omitted[kind] ?? 0);
    return rows.map(({ measure }) => ({ kind, title, measure, more, rows })).slice(0, 1);
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
  syncTime: define(
    "time in syncs",
    "Sum of the syncs' times in the span, where several threads waited at the same time.",
    "us",
  ),
  busy: define("busy", "How long the device had work, as far as it lies in the span.", "us"),
  idle: define("idle", "How long the device had nothing to do between its work.", "us"),
  phase: define("phase", "Host time of this phase, within steps.", "us"),
  cause: define("idle by cause", "The part of the idle time that has this cause.", "us"),
  count: define("count", "How many events of this name touch the span.", "count"),
  total: define(
    "device, host",
    "Their time in the span on the device or the host, what is nested in them included.",
    "us",
  ),
  self: define("self", "The same without what is nested in them.", "us"),
} as const;
