import { getJson, withTarget, type Target } from "./request";
import type { WireSqlAnswer, WireSqlTables } from "./types";

/** What a query is asked of: one trace, or the newest of each worker of its run. */
export type SqlScope = "trace" | "run";

export interface SqlApi {
  readonly tables: (scope: SqlScope, signal: AbortSignal) => Promise<WireSqlTables>;
  readonly ask: (
    scope: SqlScope,
    target: Target,
    query: string,
    signal: AbortSignal,
  ) => Promise<WireSqlAnswer>;
}

const PATHS: Readonly<Record<SqlScope, string>> = { trace: "api/sql", run: "api/ranks/sql" };

export function createSqlApi(root: URL): SqlApi {
  return {
    tables: (scope, signal) =>
      getJson<WireSqlTables>(new URL(`${PATHS[scope]}/tables`, root), signal),
    ask: (scope, target, query, signal) => {
      const url = new URL(PATHS[scope], root);
      if (scope === "trace") withTarget(url, target);
      else url.searchParams.set("run", target.run);
      url.searchParams.set("query", query);
      return getJson<WireSqlAnswer>(url, signal);
    },
  };
}
