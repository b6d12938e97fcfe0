import type { TableQuestion } from "../../api/client";
import type { Target } from "../../api/request";
import type { TablePage } from "../../api/schema";
import { define } from "../../text/definitions";
import { durationScale, type DurationScale } from "../../text/formats";
import { type Loaded, useAsk, useServices } from "../services";
import type { ServerColumn } from "./ServerTable";

/** Rows of a page; fewer than a megabyte even where each has a long name and a stack. */
export const PAGE_ROWS = 50;

export type TableRow = Readonly<Record<string, string | number | boolean | null>>;

/** Some rows of a table of the server; null asks nothing. */
export function useRows(target: Target, question: TableQuestion | null): Loaded<TablePage> {
  const { api } = useServices();
  return useAsk(api.table, question === null ? null : [target, question]);
}

export function rowsOf(page: TablePage | null): TableRow[] {
  return (page?.rows ?? []) as TableRow[];
}

export function numberOf(row: TableRow, column: string): number | null {
  const value = row[column];
  return typeof value === "number" ? value : null;
}

export function textOf(row: TableRow, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : "";
}

/** For durations where small ones matter as much as large ones, as lengths of single kernels. */
export const MICROSECONDS: DurationScale = { unit: "us", digits: 1 };

/** How each column of durations is written, by id: one unit for all rows on show. */
export function scalesOf(
  columns: readonly ServerColumn[],
  rows: readonly TableRow[],
): ReadonlyMap<string, DurationScale> {
  return new Map(
    columns
      .filter(({ definition }) => definition.unit === "us")
      .map(({ id, scale }) => [id, scale ?? durationScale(largest(rows, id))]),
  );
}

/** The largest size in a column; 0 without any. */
export function largest(rows: readonly TableRow[], column: string): number {
  return Math.max(0, ...rows.map((row) => Math.abs(numberOf(row, column) ?? 0)));
}

/** Columns of the lists of events in a panel. */
export const EVENT_LIST_DEFINITIONS = {
  start: define("start", "When it began, counted from the beginning of the trace.", "us"),
  where: define("phase, module", "The phase it is in, and the module it belongs to."),
} as const;
