/** The report and the list of runs as the server sends them: snake_case, microseconds, bytes. */

import type {
  WireAllocation,
  WireBreakdown,
  WireDeviceUse,
  WireKernel,
  WireKernelsOmitted,
  WireOperator,
  WireStream,
  WireThread,
} from "./tables";

export interface WireTrace {
  id: string;
  file: string;
  bytes: number;
  modified: number;
}

export interface WireWorker {
  name: string;
  traces: WireTrace[];
}

export interface WireRun {
  name: string;
  workers: WireWorker[];
}

export interface WireRuns {
  logdir: string;
  version: string;
  runs: WireRun[];
  /** What was not listed: links that lead out of the log directory, folders that cannot be read. */
  left_out: { links: number; folders: number };
}

export interface WireProgress {
  stage: string;
  /** Fraction of the stage, null where it has no measure. */
  done: number | null;
  /** Of the file, read so far; null before the reading. */
  bytes: number | null;
  events: number | null;
}

export interface WireWarning {
  code: string;
  message: string;
  count: number;
}

export interface WireTraceInfo {
  path: string;
  format: string;
  events: number;
  start_us: number;
  duration_us: number;
  devices: { id: string; name: string; kind: string }[];
  rank: number | null;
  world_size: number | null;
  torch_version: string | null;
  recorder: Record<string, unknown> | null;
  warnings: WireWarning[];
}

export interface WireTotals {
  device_busy_us: Record<string, number>;
  backward_device_us: number | null;
  forward_device_us: number | null;
  optimizer_device_us: number | null;
  sync_count: number;
  sync_blocked_us: number;
  backward_sync_count: number;
  device_wait_count: number;
  queue_full_count: number | null;
  queue_full_us: number | null;
  /** By kind of device work ("matrix", "convolution", ...); kinds without any are left out. */
  device_us_by_kind: Record<string, number>;
  communication_device_us: number | null;
  tensor_core_us: number | null;
  tensor_core_unknown_us: number | null;
}

/** Idle time of the devices by its cause; the parts sum to the step's device_idle_us. */
export interface WireIdle {
  sync: number;
  data_loading: number;
  copy: number;
  allocator: number;
  launch: number;
  communication: number;
  profiler: number;
  device: number;
  unknown: number;
}

export interface WireStep {
  name: string;
  start_us: number;
  duration_us: number;
  forward_us: number;
  backward_us: number;
  optimizer_us: number;
  data_us: number;
  other_us: number;
  device_busy_us: number | null;
  device_idle_us: number | null;
  sync_blocked_us: number;
  idle: WireIdle | null;
  queue_full_us: number | null;
  /** The part of device_idle_us during which the host was in the backward pass. */
  backward_idle_us: number | null;
}

/** Work of one direction (forward, backward, recompute) of one module. */
export interface WireWork {
  host_us: number | null;
  device_us: number | null;
  self_host_us: number | null;
  self_device_us: number | null;
  kernels: number | null;
  /** Device time by kind of work; sums to device_us. */
  by_kind: Record<string, number> | null;
  tensor_core_us: number | null;
}

/** What calls of a module were given, as far as their first operator shows it. */
export interface WireInputShapes {
  operator: string;
  dims: unknown[];
  calls: number;
}

export interface WireModule {
  path: string;
  class: string;
  parent: string | null;
  calls: number;
  forward: WireWork;
  backward: WireWork;
  recompute: WireWork | null;
  sync: { count: number; blocked_us: number; device_idle_us: number | null };
  backward_ratio: number | null;
  occupancy_pct: number | null;
  shapes: WireInputShapes[];
  /** "file.py:line" where the module is defined. */
  source: string | null;
}

export interface WireNode {
  name: string;
  count: number;
  host_us: number;
  device_us: number | null;
}

/** The device work that took the longer part of a sync. */
export interface WireWaitedFor {
  name: string;
  device: string;
  stream: string;
  duration_us: number;
}

export interface WireSync {
  api: string;
  start_us: number;
  duration_us: number;
  step: string | null;
  phase: string;
  operator: string | null;
  node: string | null;
  module: string | null;
  cause: string;
  device_idle_us: number | null;
  /** Python frames, innermost first. */
  stack: string[];
  thread: string;
  /** null: no work ended during the sync. */
  waited_for: WireWaitedFor | null;
}

export interface WireCoverage {
  backward_device_us: number | null;
  unattributed_us: number | null;
  backward_host_us: number;
  unattributed_host_us: number;
  by_evidence: Record<string, number>;
  measure: string;
  by_evidence_host: Record<string, number>;
  unattributed_by_reason: Record<string, number>;
  /** What of the backward's device time is communication. */
  communication_device_us: number | null;
  unattributed_communication_us: number | null;
}

/** Something to look at that no trace shows. */
export interface WireAdvice {
  id: string;
  title: string;
  fix: string;
}

/** What the recorder left in the selected steps, and what that cost. */
export interface WireRecorder {
  version: number | null;
  markers: string[];
  marks: { forward: number; gradient: number; backward: number; function: number };
  own_host_us: number | null;
  own_share: number | null;
}

export interface WireFinding {
  rule: string;
  severity: string;
  title: string;
  where: string;
  /** null: outside every module. */
  module: string | null;
  cost_us_per_step: number | null;
  gain_us_per_step: number | null;
  evidence: string;
  fix: string;
  confidence: string;
  reference: string;
  advice: WireAdvice[];
  /** How often it was seen in the steps that count. */
  count: number;
  /** Starts of what was seen; the first 20. Of syncs: the `start_us` of the sync. */
  examples: number[];
  caveats: string[];
}

export interface WireReport {
  schema: number;
  trace: WireTraceInfo;
  totals: WireTotals;
  steps: WireStep[];
  modules: WireModule[];
  nodes: WireNode[];
  syncs: WireSync[];
  allocations: WireAllocation[];
  coverage: WireCoverage;
  findings: WireFinding[];
  recorder: WireRecorder | null;
  kernels: WireKernel[];
  kernels_omitted: WireKernelsOmitted | null;
  operators: WireOperator[];
  breakdown: WireBreakdown[];
  devices: WireDeviceUse[];
  streams: WireStream[];
  threads: WireThread[];
}

/** The version of the report this page understands. */
export const SCHEMA = 1;
