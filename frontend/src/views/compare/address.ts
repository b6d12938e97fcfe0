import { oneOf, record, text, texts, type Codec, type Read } from "../../text/query";

export const COMPARE_TABLES = ["modules", "syncs", "kernels", "findings"] as const;
export type CompareTable = (typeof COMPARE_TABLES)[number];

export const STATUSES = [
  "changed",
  "appeared",
  "vanished",
  "moved",
  "unlisted",
  "unknown",
  "same",
] as const;
export type Status = (typeof STATUSES)[number];

const SIDE = record({
  run: text("base"),
  worker: text("base_worker"),
  trace: text("base_trace"),
  /** Names of its steps; empty for all. */
  steps: texts("base_step"),
});

/** The trace that the one on show is held against. */
export type Base = Read<typeof SIDE> & { readonly run: string };

const BASE: Codec<Base | null> = {
  start: null,
  write: (base, query) => {
    if (base !== null) SIDE.write(base, query);
  },
  read: (query) => {
    const { run, ...side } = SIDE.read(query);
    return run === null ? null : { run, ...side };
  },
};

/** What of a comparison an address says: the side before, both sides' steps, what is shown. */
export const COMPARE = record({
  /** null: none is chosen. */
  base: BASE,
  /** Steps of the trace on show; empty for those that the page shows. */
  steps: texts("other_step"),
  /** null: the first that is not empty. */
  table: oneOf("table", COMPARE_TABLES, null),
  /** null: all that differs. */
  status: oneOf("status", [...STATUSES, "all"], null),
  /** Id of the selected row. */
  row: text("row"),
});
export type ComparePlace = Read<typeof COMPARE>;
