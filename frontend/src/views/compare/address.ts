/** What of a comparison an address says: the side before, both sides' steps, what is shown. */

export const COMPARE_TABLES = ["modules", "syncs", "kernels", "findings"] as const;
export type CompareTable = (typeof COMPARE_TABLES)[number];

export const STATUSES = ["changed", "appeared", "vanished", "moved", "unlisted", "same"] as const;
export type Status = (typeof STATUSES)[number];

/** The trace that the one on show is held against. */
export interface Base {
  readonly run: string;
  readonly worker: string | null;
  readonly trace: string | null;
  /** Names of its steps; empty for all. */
  readonly steps: readonly string[];
}

export interface ComparePlace {
  /** null: none is chosen. */
  readonly base: Base | null;
  /** Steps of the trace on show; empty for those that the page shows. */
  readonly steps: readonly string[];
  /** null: the first that is not empty. */
  readonly table: CompareTable | null;
  /** null: all that differs. */
  readonly status: Status | "all" | null;
  /** Id of the selected row. */
  readonly row: string | null;
}

export const NO_COMPARE: ComparePlace = {
  base: null,
  steps: [],
  table: null,
  status: null,
  row: null,
};

export function compareToQuery(place: ComparePlace, query: URLSearchParams): void {
  const { base } = place;
  if (base !== null) {
    query.set("base", base.run);
    if (base.worker !== null) query.set("base_worker", base.worker);
    if (base.trace !== null) query.set("base_trace", base.trace);
    for (const step of base.steps) query.append("base_step", step);
  }
  for (const step of place.steps) query.append("other_step", step);
  if (place.table !== null) query.set("table", place.table);
  if (place.status !== null) query.set("status", place.status);
  if (place.row !== null) query.set("row", place.row);
}

export function compareFromQuery(query: URLSearchParams): ComparePlace {
  const run = query.get("base");
  const status = query.get("status");
  const steps = query.getAll("other_step");
  return {
    base:
      run === null
        ? null
        : {
            run,
            worker: query.get("base_worker"),
            trace: query.get("base_trace"),
            steps: query.getAll("base_step"),
          },
    steps: steps.length === 0 ? NO_COMPARE.steps : steps,
    table: COMPARE_TABLES.find((table) => table === query.get("table")) ?? null,
    status: status === "all" ? "all" : (STATUSES.find((known) => known === status) ?? null),
    row: query.get("row"),
  };
}
