import { createCompareApi, type CompareApi } from "./compare";
import { createMemoryApi, type MemoryApi } from "./memory";
import { createModuleApi, type ModuleApi } from "./module";
import { createRanksApi, type RanksApi } from "./ranks";
import { ApiError, getJson, withTarget, type Target } from "./request";
import { createTableApi, type TableApi } from "./tables";
import { createTimelineApi, type TimelineApi } from "./timeline";
import { SCHEMA, type WireProgress, type WireReport, type WireRule, type WireRuns } from "./types";
import { createWhatIfApi, type WhatIfApi } from "./whatif";

export interface Api {
  readonly runs: (signal: AbortSignal) => Promise<WireRuns>;
  readonly report: (target: Target, signal: AbortSignal) => Promise<WireReport>;
  readonly progress: (target: Target, signal: AbortSignal) => Promise<WireProgress>;
  readonly rules: (signal: AbortSignal) => Promise<WireRule[]>;
  readonly module: ModuleApi;
  readonly compare: CompareApi;
  readonly whatIf: WhatIfApi;
  readonly memory: MemoryApi;
  readonly ranks: RanksApi;
  readonly timeline: TimelineApi;
  readonly table: TableApi;
}

/** The server's interface below `base`, the folder that index.js came from. */
export function createApi(base: URL): Api {
  return {
    runs: (signal) => getJson<WireRuns>(new URL("api/runs", base), signal),
    progress: (target, signal) =>
      getJson<WireProgress>(withTarget(new URL("api/progress", base), target), signal),
    report: async (target, signal) => {
      const url = withTarget(new URL("api/report", base), target);
      const report = await getJson<WireReport>(url, signal);
      if (report.schema !== SCHEMA) throw new ApiError("version", versionMessage(report.schema));
      return report;
    },
    rules: (signal) => getJson<WireRule[]>(new URL("api/rules", base), signal),
    module: createModuleApi(base),
    compare: createCompareApi(base),
    whatIf: createWhatIfApi(base),
    memory: createMemoryApi(base),
    ranks: createRanksApi(base),
    timeline: createTimelineApi(base),
    table: createTableApi(base),
  };
}

function versionMessage(schema: number): string {
  return `the report has version ${schema}, this page reads version ${SCHEMA}; reload the page`;
}
