import type { WireStatistics } from "../../api/timeline";

/** What took most of a stretch, of one kind of lane. */
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

/** The dearest names by kind; device work first, since that is what one waits for. */
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
