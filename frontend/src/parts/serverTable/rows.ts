import type { TableQuestion } from "../../api/client";
import type { Target } from "../../api/request";
import type { TablePage } from "../../api/schema";
import { type Loaded, useAsk, useServices } from "../services";

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
