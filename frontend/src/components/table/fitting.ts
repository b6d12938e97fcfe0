import type { Column } from "./features";

/** What a column that takes what is left is given at least, in pixels. */
export const LEAST_FREE_WIDTH = 210;

export interface Fitted<Row extends object> {
  shown: Column<Row>[];
  hidden: Column<Row>[];
}

/**
 * The columns that a width has room for, by their own widths: those that yield go first to last
 * in the order of `yields`, until the rest fits. The column that rows are sorted by stays.
 *
 * @param width in pixels; 0 where it is not known yet, which has room for all.
 */
export function fittingColumns<Row extends object>(
  columns: Column<Row>[],
  width: number,
  sortKey: string,
): Fitted<Row> {
  const yielding = columns
    .filter(({ id, meta }) => meta?.yields !== undefined && id !== sortKey)
    .sort((a, b) => (a.meta?.yields ?? 0) - (b.meta?.yields ?? 0));
  const gone = new Set<Column<Row>>();
  let needed = columns.reduce((sum, column) => sum + widthOf(column), 0);
  for (const column of yielding) {
    if (width === 0 || needed <= width) break;
    gone.add(column);
    needed -= widthOf(column);
  }
  return {
    shown: columns.filter((column) => !gone.has(column)),
    hidden: columns.filter((column) => gone.has(column)),
  };
}

function widthOf<Row extends object>({ meta }: Column<Row>): number {
  const width = meta?.width ?? 0;
  return width === 0 ? LEAST_FREE_WIDTH : width;
}
