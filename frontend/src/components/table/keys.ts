import { useEffect, useRef, useState, type KeyboardEvent } from "react";

import type { Branch } from "./props";

const PAGE = 15;

interface Keyed<Row extends object> {
  rows: Row[];
  rowId: (row: Row) => string;
  onSelect: (id: string) => void;
  branch?: (row: Row) => Branch;
  onFold?: (id: string, open: boolean) => void;
}

/** Act on a key as a tree grid does; says whether the key was meant for the table. */
export function keyTarget<Row extends object>(
  event: KeyboardEvent<HTMLElement>,
  table: Keyed<Row>,
  cursor: number,
  setCursor: (index: number) => void,
): boolean {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) {
    return false;
  }
  const last = table.rows.length - 1;
  const moves: Partial<Record<string, number>> = {
    ArrowDown: cursor + 1,
    ArrowUp: cursor - 1,
    PageDown: cursor + PAGE,
    PageUp: cursor - PAGE,
    Home: 0,
    End: last,
  };
  const to = moves[event.key];
  if (to !== undefined) {
    setCursor(Math.max(0, Math.min(last, to)));
    return true;
  }
  const row = table.rows[cursor];
  if (row === undefined) return false;
  if (event.key === "Enter" || event.key === " ") {
    table.onSelect(table.rowId(row));
    return true;
  }
  if (event.key === "ArrowRight") return goRight(table, row, cursor, setCursor);
  if (event.key === "ArrowLeft") return goLeft(table, row, cursor, setCursor);
  return false;
}

function goRight<Row extends object>(
  table: Keyed<Row>,
  row: Row,
  cursor: number,
  setCursor: (index: number) => void,
): boolean {
  const branch = table.branch?.(row);
  if (branch === undefined) return false;
  if (branch.open === false) table.onFold?.(table.rowId(row), true);
  else if (branch.open === true) setCursor(cursor + 1);
  return true;
}

function goLeft<Row extends object>(
  table: Keyed<Row>,
  row: Row,
  cursor: number,
  setCursor: (index: number) => void,
): boolean {
  const { branch } = table;
  if (branch === undefined) return false;
  const { level, open } = branch(row);
  if (open === true) {
    table.onFold?.(table.rowId(row), false);
    return true;
  }
  for (let above = cursor - 1; above >= 0; above--) {
    const candidate = table.rows[above];
    if (candidate !== undefined && branch(candidate).level < level) {
      setCursor(above);
      break;
    }
  }
  return true;
}

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
