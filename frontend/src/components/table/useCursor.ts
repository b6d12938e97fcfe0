import { useEffect, useRef, useState } from "react";

interface Rows<Row extends object> {
  rows: Row[];
  rowId: (row: Row) => string;
  selected: string | null;
}

/** The row that the keyboard is at; follows the selection, wherever that was made. */
export function useCursor<Row extends object>(
  props: Rows<Row>,
  scrollTo: (index: number) => void,
): { cursor: number; setCursor: (index: number) => void } {
  const { rows, rowId, selected } = props;
  const [at, setAt] = useState<string | null>(null);
  const known = at === null ? -1 : rows.findIndex((row) => rowId(row) === at);
  const chosen = selected === null ? -1 : rows.findIndex((row) => rowId(row) === selected);
  const cursor = known >= 0 ? known : Math.max(0, chosen);
  const shown = useRef<string | null>(null);
  useEffect(() => {
    if (selected === shown.current || chosen < 0) return;
    shown.current = selected;
    setAt(selected);
    scrollTo(chosen);
  }, [selected, chosen, scrollTo]);
  const setCursor = (index: number): void => {
    const row = rows[index];
    if (row === undefined) return;
    setAt(rowId(row));
    scrollTo(index);
  };
  return { cursor, setCursor };
}
