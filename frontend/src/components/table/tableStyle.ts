import type { CSSProperties } from "react";

import type { Column } from "./features";
import { LEAST_FREE_WIDTH } from "./fitting";
import type { Widths } from "./useWidths";

/** The columns as tracks of a grid, which all rows share. */
export function tableStyle<Row extends object>(
  columns: Column<Row>[],
  chosen: Widths,
): CSSProperties {
  const widths = columns.map(({ id, meta }) => chosen[id ?? ""] ?? meta?.width ?? 0);
  const track = (width: number): string =>
    width === 0 ? `minmax(${LEAST_FREE_WIDTH}px,1fr)` : `${width}px`;
  const least = widths.reduce((sum, width) => sum + (width === 0 ? LEAST_FREE_WIDTH : width), 0);
  return {
    "--columns": widths.map(track).join(" "),
    "--least-width": `${least}px`,
  } as CSSProperties;
}
