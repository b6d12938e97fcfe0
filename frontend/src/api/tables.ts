import { getJson, withTarget, type Target } from "./request";
import type { WireTablePage } from "./types";

/** Some rows of a table: filtered, sorted and cut to a page by the server. */
export interface TableQuestion {
  table: string;
  /** Columns, the most important first; `-` before one for descending. */
  sort: readonly string[];
  /** `column:op:value`; all must hold. */
  filter: readonly string[];
  offset: number;
  limit: number;
  /** Those asked for beside the id; all where left out. */
  columns?: readonly string[];
}

export type TableApi = (
  target: Target,
  question: TableQuestion,
  signal: AbortSignal,
) => Promise<WireTablePage>;

export function createTableApi(root: URL): TableApi {
  return (target, question, signal) => {
    const url = withTarget(new URL(`api/table/${question.table}`, root), target);
    return getJson<WireTablePage>(withRows(url, question), signal);
  };
}

/** An address with the rows that are asked for. */
export function withRows(
  url: URL,
  { sort, filter, offset, limit, columns = [] }: TableQuestion,
): URL {
  for (const column of sort) url.searchParams.append("sort", column);
  for (const test of filter) url.searchParams.append("filter", test);
  if (columns.length > 0) url.searchParams.set("columns", columns.join(","));
  url.searchParams.set("offset", String(offset));
  url.searchParams.set("limit", String(limit));
  return url;
}
