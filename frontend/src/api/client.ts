import { addressOf, ApiError, type Asked, getJson, type Target, traceOf } from "./request";
import type {
  CollectiveRanks,
  Compared,
  DryRunReport,
  EventDetail,
  History,
  KernelSearch,
  KnownTrace,
  MemoryAnswer,
  ModuleChange,
  ModuleDetail,
  RankActivity,
  ReadingProgress,
  ReportData,
  ReportRows,
  RuleInfo,
  RunOverview,
  Runs,
  SearchResult,
  SqlAnswer,
  SqlTables,
  StepMatrix,
  TablePage,
  TimelineLane,
  TimelineOverview,
  TimelineWindow,
  Unplaced,
  WhatIf,
  WindowStatistics,
} from "./schema";

/** A number of each call of a module. */
export type CallMeasure = keyof Unplaced;

/** What calls cost over time, by the path of the module. */
export type CallBars = Record<string, number[]>;

export type LaneKind = TimelineLane["kind"];

/** How a row of a comparison changed. */
export type ChangeStatus = ModuleChange["status"];

/** Modules whose bars may be asked for at a time. */
export const MOST_PATHS = 100;

/** Characters of a text that kernels are searched for. */
export const MOST_TEXT = 200;

/** Later than all that is in a trace. */
const LATEST_US = 1e12;

/** A trace and which of its steps; none for all. */
export interface CompareSide extends Omit<Target, "step"> {
  steps: readonly string[];
}

/** Some rows of a table: filtered, sorted and cut to a page by the server. */
export interface TableQuestion {
  table: string;
  /** Columns, the most important first; `-` before one for descending. */
  sort?: readonly string[];
  /** `column:op:value`; all must hold. */
  filter?: readonly string[];
  offset?: number;
  limit: number;
  /** Those asked for apart from the id; all where left out. */
  columns?: readonly string[];
}

/** A part of the timeline in microseconds on its clock. */
interface Part {
  from: number;
  to: number;
}

/** What part of the timeline is asked for, and for how many pixels. */
export interface WindowQuery extends Part {
  width: number;
  /** Ids of the lanes that are wanted; all of them without. */
  lanes?: readonly string[];
}

/** Which device, and which part of the trace; null all of it. */
export interface MemoryQuestion {
  device: string | null;
  span: Part | null;
}

/** What is changed in a replay. */
interface Change {
  /** Ids of findings that are gone, or of rules for all of theirs. */
  without: readonly string[];
  scale: readonly { what: string; factor: number }[];
}

/** What a query is asked of: one trace, or the newest of each worker of its run. */
export type SqlScope = "trace" | "run";

export type Api = ReturnType<typeof createApi>;

type Get = <T>(path: string, asked: Asked, signal: AbortSignal) => Promise<T>;

/** The server's interface below `base`, the folder that index.js came from. */
export function createApi(base: URL, onAwaited: (requests: number) => void = () => undefined) {
  let awaited = 0;
  const count = (change: 1 | -1): void => onAwaited((awaited += change));
  const get: Get = (path, asked, signal) => {
    count(1);
    return getJson<never>(addressOf(base, path, asked), signal).finally(() => count(-1));
  };
  return {
    runs: (signal: AbortSignal) => get<Runs>("runs", {}, signal),
    /** What is known of the runs' traces without reading them. */
    known: (signal: AbortSignal) => get<readonly KnownTrace[]>("runs/known", {}, signal),
    progress: (target: Target, signal: AbortSignal) =>
      get<ReadingProgress>("progress", traceOf(target), signal),
    report: (target: Target, signal: AbortSignal) => loadReport(get, target, signal),
    dryRun: (signal: AbortSignal) => get<DryRunReport & Cut>("dry_run", {}, signal),
    rules: (signal: AbortSignal) => get<RuleInfo[]>("rules", {}, signal),
    /** With how many rows of each list the server left out to keep the answer short. */
    compare: (before: CompareSide, after: CompareSide, signal: AbortSignal) => {
      const { run, worker, trace, steps: step } = before;
      const other = {
        other_run: after.run,
        other_worker: after.worker,
        other_trace: after.trace,
        other_step: after.steps,
      };
      return get<Compared & Cut>("compare", { run, worker, trace, step, ...other }, signal);
    },
    /** The steps of a watched training run, in the folder of a run. */
    history: (run: string, signal: AbortSignal) => get<History>("history", { run }, signal),
    memory: (target: Target, { device, span }: MemoryQuestion, signal: AbortSignal) =>
      get<MemoryAnswer>("memory", { ...traceOf(target), device, ...windowOf(span) }, signal),
    table: (target: Target, question: TableQuestion, signal: AbortSignal) => {
      const asked = { ...traceOf(target), ...rowsOf(question) };
      return get<TablePage>(`table/${question.table}`, asked, signal);
    },
    module: moduleApi(get),
    whatIf: whatIfApi(get),
    timeline: timelineApi(get),
    sql: sqlApi(get),
    ranks: {
      ...ranksApi(get),
      /** Where a trace of a collective on several ranks is, for Perfetto. */
      collectiveFile: (run: string, id: number) =>
        addressOf(base, "ranks/collective/file", { run, id }).href,
    },
  };
}

function moduleApi(get: Get) {
  return {
    detail: (target: Target, path: string, signal: AbortSignal) =>
      get<ModuleDetail>("module", { ...traceOf(target), path }, signal),
    /** At most `MOST_PATHS` modules. */
    bars: (target: Target, measure: CallMeasure, path: readonly string[], signal: AbortSignal) =>
      get<CallBars>("module/bars", { ...traceOf(target), measure, path }, signal),
    /** `q` is of 1 to `MOST_TEXT` characters. */
    search: (target: Target, q: string, signal: AbortSignal) =>
      get<KernelSearch>("module/search", { ...traceOf(target), q }, signal),
  };
}

function whatIfApi(get: Get) {
  const changed = (target: Target, { without, scale }: Change): Asked => ({
    ...traceOf(target),
    without,
    scale: scale.map(({ what, factor }) => `${what}=${factor}`),
  });
  return {
    /** The answer; `modules` is whether with the critical path by module, which takes longer. */
    answer: (target: Target, change: Change, modules: boolean, signal: AbortSignal) =>
      get<WhatIf>("whatif", { ...changed(target, change), modules: modules ? null : 0 }, signal),
    /** The lanes of the replayed steps, as recorded and as predicted. */
    lanes: (target: Target, change: Change, signal: AbortSignal) =>
      get<TimelineOverview>("whatif/lanes", changed(target, change), signal),
    /** What these lanes show between two times, at a width in pixels. */
    window: (target: Target, change: Change, view: Part & { width: number }, signal: AbortSignal) =>
      get<TimelineWindow>(
        "whatif/window",
        { ...changed(target, change), ...windowOf(view), width: view.width },
        signal,
      ),
  };
}

/** Of the whole trace, whichever steps are looked at. */
function timelineApi(get: Get) {
  const at = <T>(path: string, { run, worker, trace }: Target, asked: Asked, signal: AbortSignal) =>
    get<T>(`timeline${path}`, { run, worker, trace, ...asked }, signal);
  return {
    overview: (target: Target, signal: AbortSignal) => at<TimelineOverview>("", target, {}, signal),
    window: (target: Target, { lanes, width, ...part }: WindowQuery, signal: AbortSignal) => {
      const asked = { ...windowOf(part), width, lanes: lanes?.join(",") };
      return at<TimelineWindow>("/window", target, asked, signal);
    },
    event: (target: Target, id: string, signal: AbortSignal) =>
      at<EventDetail>("/event", target, { id }, signal),
    /** Search the whole trace, or what begins at `from` and later. */
    search: (target: Target, query: { text: string; from?: number }, signal: AbortSignal) => {
      const { text: q, from } = query;
      const later = from === undefined ? {} : windowOf({ from, to: LATEST_US });
      return at<SearchResult>("/search", target, { q, ...later }, signal);
    },
    statistics: (target: Target, part: Part, signal: AbortSignal) =>
      at<WindowStatistics>("/statistics", target, windowOf(part), signal),
  };
}

function sqlApi(get: Get) {
  const paths: Readonly<Record<SqlScope, string>> = { trace: "sql", run: "ranks/sql" };
  return {
    tables: (scope: SqlScope, signal: AbortSignal) =>
      get<SqlTables>(`${paths[scope]}/tables`, {}, signal),
    ask: (scope: SqlScope, target: Target, query: string, signal: AbortSignal) => {
      const of = scope === "trace" ? traceOf(target) : { run: target.run };
      return get<SqlAnswer>(paths[scope], { ...of, query }, signal);
    },
  };
}

/** A run by its name; the newest trace of each of its workers is a rank. */
function ranksApi(get: Get) {
  return {
    overview: (run: string, signal: AbortSignal) => get<RunOverview>("ranks", { run }, signal),
    /** Some quantities of its steps, after those that are left out first. */
    steps: (run: string, quantity: readonly string[], offset: number, signal: AbortSignal) =>
      get<StepMatrix>("ranks/steps", { run, quantity, offset }, signal),
    table: (run: string, question: TableQuestion, signal: AbortSignal) =>
      get<TablePage>(`ranks/table/${question.table}`, { run, ...rowsOf(question) }, signal),
    /** A collective on some of its ranks, after those that are left out first. */
    collective: (run: string, id: number, offset: number, signal: AbortSignal) =>
      get<CollectiveRanks>("ranks/collective", { run, id, offset }, signal),
    /** What a rank ran around a collective. */
    around: (run: string, id: number, rank: number, signal: AbortSignal) =>
      get<RankActivity>("ranks/collective/rank", { run, id, rank }, signal),
    progress: (run: string, signal: AbortSignal) =>
      get<ReadingProgress>("ranks/progress", { run }, signal),
  };
}

function windowOf(part: Part | null): Asked {
  return part === null ? {} : { start: part.from, end: part.to };
}

function rowsOf({ sort = [], filter = [], columns = [], offset = 0, limit }: TableQuestion): Asked {
  const listed = columns.length === 0 ? null : columns.join(",");
  return { sort, filter, columns: listed, offset, limit };
}

/** The version of the report this page understands. */
const SCHEMA = 1;

/** Rows that each list of an answer has lost, by its path; the server bounds every answer. */
interface Cut {
  cut?: Readonly<Record<string, number>>;
}

/** A report with all of its rows: those that the answer leaves out are asked for in turn. */
async function loadReport(get: Get, target: Target, signal: AbortSignal): Promise<ReportData> {
  const { cut = {}, ...report } = await get<ReportData & Cut>("report", traceOf(target), signal);
  if (report.schema !== SCHEMA) throw new ApiError("version", versionMessage(report.schema));
  const whole: Record<string, unknown> = { ...report };
  for (const table of Object.keys(cut)) {
    const rows = whole[table];
    if (Array.isArray(rows)) whole[table] = await completed(get, target, table, rows, signal);
  }
  return whole as unknown as ReportData;
}

async function completed(
  get: Get,
  target: Target,
  table: string,
  first: readonly unknown[],
  signal: AbortSignal,
): Promise<unknown[]> {
  const rows = [...first];
  for (let total = Infinity; rows.length < total;) {
    const asked = { ...traceOf(target), table, offset: rows.length };
    const page = await get<ReportRows>("report/rows", asked, signal);
    if (page.rows.length === 0) break;
    rows.push(...page.rows);
    total = page.total;
  }
  return rows;
}

function versionMessage(schema: number): string {
  return `the report has version ${schema}, this page reads version ${SCHEMA}; reload the page`;
}
