import { useCallback, useMemo, useState, type CSSProperties, type RefObject } from "react";

import { readStored, store, useWidth } from "../browser";
import type { Column } from "./props";

/** What a column that takes what is left is given at least, in pixels. */
export const LEAST_FREE_WIDTH = 210;
/** What it takes at most where another column takes the rest: most names are whole then. */
const MOST_FREE_WIDTH = "max(340px,30%)";

interface Fitted<Row extends object> {
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

/** The columns that the element at hand has room for, as it is made wider and narrower. */
export function useFitted<Row extends object>(
  columns: Column<Row>[],
  sortKey: string,
): [RefObject<HTMLDivElement | null>, Fitted<Row>] {
  const [ref, width] = useWidth<HTMLDivElement>();
  const fitted = useMemo(() => fittingColumns(columns, width, sortKey), [columns, width, sortKey]);
  return [ref, fitted];
}

/** Widths that the reader chose, in pixels, by id of the column. */
type Widths = Readonly<Partial<Record<string, number>>>;

const LEAST = 32;
const MOST = 2000;

/** The widths chosen for a table, remembered under its name; null gives a column its own again. */
export function useWidths(table: string): [Widths, (column: string, width: number | null) => void] {
  const key = `widths.${table}`;
  const [widths, setWidths] = useState<Widths>(() => parsed(readStored(key)));
  const setWidth = useCallback(
    (column: string, width: number | null) =>
      setWidths((before) => {
        const after = { ...before, [column]: width === null ? undefined : bounded(width) };
        store(key, JSON.stringify(after));
        return after;
      }),
    [key],
  );
  return [widths, setWidth];
}

function bounded(width: number): number {
  return Math.round(Math.min(MOST, Math.max(LEAST, width)));
}

function parsed(text: string | null): Widths {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    const entries = Object.entries(value ?? {}) as [string, unknown][];
    return Object.fromEntries(
      entries.flatMap(([id, width]) => (typeof width === "number" ? [[id, bounded(width)]] : [])),
    );
  } catch {
    // Written by hand or by another version: the widths are the columns' own.
    return {};
  }
}

/** The columns as tracks of a grid, which all rows share. */
export function tableStyle<Row extends object>(
  columns: Column<Row>[],
  chosen: Widths,
): CSSProperties {
  const widths = columns.map(({ id, meta }) => chosen[id ?? ""] ?? meta?.width ?? 0);
  // Without a free column all of them grow, lest the table end before its frame.
  const growing = !widths.includes(0);
  const most = columns.some(({ meta }) => meta?.grows) ? MOST_FREE_WIDTH : "1fr";
  const track = (width: number, at: number): string => {
    if (columns[at]?.meta?.grows === true) return `minmax(${width}px,1fr)`;
    if (width === 0) return `minmax(${LEAST_FREE_WIDTH}px,${most})`;
    return growing ? `minmax(${width}px,${width}fr)` : `${width}px`;
  };
  const least = widths.reduce((sum, width) => sum + (width === 0 ? LEAST_FREE_WIDTH : width), 0);
  return {
    "--columns": widths.map(track).join(" "),
    "--least-width": `${least}px`,
  } as CSSProperties;
}
