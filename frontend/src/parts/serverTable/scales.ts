import { durationScale, type DurationScale } from "../../text/formats";
import type { ServerColumn } from "./ServerTable";
import { numberOf, type TableRow } from "./rows";

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
