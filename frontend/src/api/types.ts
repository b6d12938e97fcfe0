/** What the server sends, under the names that the page has for it: snake_case, microseconds, bytes. */

import type { ModuleChange, TimelineLane, Unplaced } from "./schema";

export type {
  Runs as WireRuns,
  ListedRun as WireRun,
  ListedWorker as WireWorker,
  ListedTrace as WireTrace,
  ReadingProgress as WireProgress,
  RuleInfo as WireRule,
  ReportData as WireReport,
  ReportRows as WireReportRows,
  Idle as WireIdle,
  TraceWarning as WireWarning,
  Step as WireStep,
  PerStep as WirePerStep,
  PathWork as WirePathWork,
  Work as WireWork,
  CompiledLump as WireLump,
  Module as WireModule,
  Sync as WireSync,
  Finding as WireFinding,
  Breakdown as WireBreakdown,
  DeviceUse as WireDeviceUse,
  Compared as WireCompared,
  Comparison as WireComparison,
  Pair as WirePair,
  SpreadPair as WireSpreadPair,
  ModuleChange as WireModuleChange,
  SyncChange as WireSyncChange,
  KernelChange as WireKernelChange,
  FindingChange as WireFindingChange,
  Site as WireSite,
  ModuleDetail as WireModuleDetail,
  Amount as WireAmount,
  KernelUse as WireKernelUse,
  NodeUse as WireNodeUse,
  Parameters as WireParameters,
  CallsOverTime as WireCalls,
  CallRow as WireCall,
  Unplaced as WireUnplaced,
  KernelSearch as WireKernelSearch,
  TimelineOverview as WireTimeline,
  TimelineLane as WireLane,
  TimelineWindow as WireWindow,
  LaneBlocks as WireBlocks,
  LaneCurve as WireCurve,
  EventDetail as WireEvent,
  EventSummary as WireSpot,
  EventLink as WireLink,
  ChainLink as WireChainLink,
  SearchResult as WireSearch,
  WindowStatistics as WireStatistics,
  DryRunReport as WireDryRun,
  KnownTrace as WireKnownTrace,
  DrySync as WireDrySync,
  MemoryAnswer as WireMemory,
  MemoryCurve as WireMemoryCurve,
  MemoryModule as WireMemoryModule,
  MemoryPeak as WireMemoryPeak,
  History as WireHistory,
  HistoryPoints as WireHistoryPoints,
  SlowSteps as WireSlowSteps,
  SlowRank as WireSlowRank,
  Cause as WireCause,
  WatchedRecording as WireWatchedRecording,
  RunOverview as WireRunOverview,
  StepMatrix as WireStepMatrix,
  CollectiveRanks as WireCollectiveRanks,
  RankPart as WireRankPart,
  RankActivity as WireRankActivity,
  ActivitySpan as WireActivitySpan,
  Straggler as WireStraggler,
  StragglerReason as WireStragglerReason,
  StageWork as WireStageWork,
  Pipeline as WirePipeline,
  Balance as WireBalance,
  CollectiveKind as WireCollectiveKind,
  CollectiveSize as WireCollectiveSize,
  WhatIf as WireWhatIf,
  PathTime as WirePathTime,
  TablePage as WireTablePage,
  SqlAnswer as WireSqlAnswer,
  SqlTables as WireSqlTables,
} from "./schema";

/** How a row of a comparison changed. */
export type WireStatus = ModuleChange["status"];

export type LaneKind = TimelineLane["kind"];

/** A number of each call of a module. */
export type CallMeasure = keyof Unplaced;

/** What calls cost over time, by the path of the module. */
export type WireBars = Record<string, number[]>;

/** The version of the report this page understands. */
export const SCHEMA = 1;
