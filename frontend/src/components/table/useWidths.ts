import { useCallback, useState } from "react";

import { readStored, store } from "../storage";

/** Widths that the reader chose, in pixels, by id of the column. */
export type Widths = Readonly<Partial<Record<string, number>>>;

const LEAST = 32;
const MOST = 2000;

/** The widths chosen for a table, remembered under its name; null gives a column its own again. */
export function useWidths(table: string): [Widths, (column: string, width: number | null) => void] {
  const key = `widths.${table}`;
  const [widths, setWidths] = useState<Widths>(() => parsed(readStored(key)));
  const setWidth = useCallback(
    (column: string, width: number | null) => {
      setWidths((before) => {
        const after = { ...before, [column]: width === null ? undefined : bounded(width) };
        store(key, JSON.stringify(after));
        return after;
      });
    },
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
