import { createCompareApi, type CompareApi } from "./compare";
import { createHistoryApi, type HistoryApi } from "./history";
import { createMemoryApi, type MemoryApi } from "./memory";
import { createModuleApi, type ModuleApi } from "./module";
import { createRanksApi, type RanksApi } from "./ranks";
import { loadReport, type Cut } from "./report";
import { getJson, withTarget, type Target } from "./request";
import { createSqlApi, type SqlApi } from "./sql";
import { createTableApi, type TableApi } from "./tables";
import { createTimelineApi, type TimelineApi } from "./timeline";
import type {
  WireDryRun,
  WireKnownTrace,
  WireProgress,
  WireReport,
  WireRule,
  WireRuns,
} from "./types";
import { createWhatIfApi, type WhatIfApi } from "./whatif";

export interface Api {
  readonly runs: (signal: AbortSignal) => Promise<WireRuns>;
  /** What is known of the runs' traces without reading them. */
  readonly known: (signal: AbortSignal) => Promise<readonly WireKnownTrace[]>;
  readonly report: (target: Target, signal: AbortSignal) => Promise<WireReport>;
  readonly progress: (target: Target, signal: AbortSignal) => Promise<WireProgress>;
  readonly dryRun: (signal: AbortSignal) => Promise<WireDryRun & Cut>;
  readonly rules: (signal: AbortSignal) => Promise<WireRule[]>;
  readonly module: ModuleApi;
  readonly compare: CompareApi;
  readonly whatIf: WhatIfApi;
  readonly memory: MemoryApi;
  readonly ranks: RanksApi;
  readonly history: HistoryApi;
  readonly timeline: TimelineApi;
  readonly table: TableApi;
  readonly sql: SqlApi;
}

/** The server's interface below `base`, the folder that index.js came from. */
export function createApi(base: URL): Api {
  return {
    runs: (signal) => getJson<WireRuns>(new URL("api/runs", base), signal),
    known: (signal) => getJson<WireKnownTrace[]>(new URL("api/runs/known", base), signal),
    progress: (target, signal) =>
      getJson<WireProgress>(withTarget(new URL("api/progress", base), target), signal),
    report: (target, signal) => loadReport(base, target, signal),
    dryRun: (signal) => getJson<WireDryRun & Cut>(new URL("api/dry_run", base), signal),
    rules: (signal) => getJson<WireRule[]>(new URL("api/rules", base), signal),
    module: createModuleApi(base),
    compare: createCompareApi(base),
    whatIf: createWhatIfApi(base),
    memory: createMemoryApi(base),
    ranks: createRanksApi(base),
    history: createHistoryApi(base),
    timeline: createTimelineApi(base),
    table: createTableApi(base),
    sql: createSqlApi(base),
  };
}
