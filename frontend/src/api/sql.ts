import { getJson, withTarget, type Target } from "./request";
import type { WireSqlAnswer, WireSqlTables } from "./types";

export interface SqlApi {
  readonly tables: (signal: AbortSignal) => Promise<WireSqlTables>;
  readonly ask: (target: Target, query: string, signal: AbortSignal) => Promise<WireSqlAnswer>;
}

export function createSqlApi(root: URL): SqlApi {
  return {
    tables: (signal) => getJson<WireSqlTables>(new URL("api/sql/tables", root), signal),
    ask: (target, query, signal) => {
      const url = withTarget(new URL("api/sql", root), target);
      url.searchParams.set("query", query);
      return getJson<WireSqlAnswer>(url, signal);
    },
  };
}
