import type { CompareSide } from "../../api/compare";
import { START, type Place } from "../../address/place";
import type { CompareTable } from "./address";
import type { CompareRow, RowPlace } from "./rows";

/** The row in the view of its own side. */
export function rowPlace(
  table: CompareTable,
  side: CompareSide,
  place: RowPlace,
  row: CompareRow,
): Partial<Place> {
  const { run, worker, trace, steps } = side;
  const step = steps.length === 1 ? (steps[0] ?? null) : null;
  const at = { ...START, run, worker, trace, step };
  if (table === "modules") return { ...at, view: "backward", module: place.module };
  if (table === "syncs") return { ...at, view: "syncs", cause: row.name };
  if (table === "findings") return { ...at, view: "findings", search: row.name };
  return { ...at, view: "timeline", search: row.name };
}
