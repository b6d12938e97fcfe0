import type { ListedRun, Module, ReportData, Step, Sync, Work } from "../api/schema";
import { withIds } from "./ids";
import { perStep } from "./perStep";

/** Small reports for tests: say what matters, the rest is filled in. */

export function work(totalUs: number | null, selfUs: number | null = totalUs): Work {
  return {
    host_us: totalUs,
    device_us: totalUs,
    self_host_us: selfUs,
    self_device_us: selfUs,
    kernels: totalUs === null ? null : 1,
    by_kind: totalUs === null ? null : { matrix: totalUs },
    tensor_core_us: totalUs === null ? null : 0,
    compute_us: totalUs,
    self_compute_us: selfUs,
    communication_us: totalUs === null ? null : 0,
  };
}

export function module(path: string, parent: string | null, rest: Partial<Module> = {}): Module {
  return {
    id: 0,
    path,
    class: "Linear",
    parent,
    parent_id: null,
    depth: 0,
    calls: 1,
    forward: work(1),
    backward: work(2),
    recompute: null,
    sync: { count: 0, blocked_us: 0, device_idle_us: 0 },
    backward_ratio: null,
    occupancy_pct: null,
    kernel_loading_us: null,
    shapes: [],
    compiled: false,
    compiled_lump: null,
    source: null,
    unseen: null,
    ...rest,
  };
}

export function step(name: string, rest: Partial<Step> = {}): Step {
  return {
    id: 0,
    name,
    start_us: 0,
    duration_us: 100,
    forward_us: 30,
    backward_us: 60,
    optimizer_us: 5,
    data_us: 0,
    other_us: 5,
    device_busy_us: 80,
    device_idle_us: 20,
    sync_blocked_us: 0,
    idle: null,
    queue_full_us: null,
    communication_wait_us: null,
    backward_idle_us: 12,
    counts: true,
    device_us: 16,
    launched_before_count: 0,
    launched_before_us: 0,
    left_out_us: 0,
    ...rest,
  };
}

export function sync(rest: Partial<Sync> = {}): Sync {
  return {
    id: 0,
    event_id: 0,
    api: "cudaStreamSynchronize",
    start_us: 1010,
    duration_us: 5,
    step: "ProfilerStep#1",
    step_id: null,
    phase: "backward",
    operator: "aten::item",
    operator_id: null,
    node: "IndexBackward0",
    node_id: null,
    module: "head",
    module_id: null,
    cause: "scalar-read",
    device_idle_us: 2,
    gap_ids: [],
    stack: [],
    thread: "thread 1",
    thread_id: 0,
    waited_for: null,
    waited_us: 0,
    transfer_us: 0,
    ...rest,
  };
}

/** A model of three levels, 10 us of backward of which 1 us is not attributed. */
export function report(rest: Partial<ReportData> = {}): ReportData {
  const made = withoutMeans(rest);
  return { ...made, per_step: rest.per_step ?? perStep(made) };
}

const TRACE: ReportData["trace"] = {
  path: "runs/vit/a.pt.trace.json",
  format: "chrome-object",
  events: 10,
  start_us: 1000,
  duration_us: 200,
  devices: [{ id: "0", name: "GPU", kind: "cuda" }],
  rank: null,
  world_size: null,
  torch_version: null,
  recorder: null,
  warnings: [],
  recording: null,
};

const VERDICT: ReportData["verdict"] = {
  bound: "host",
  sentence: "Host-bound: the host takes 95 us per step, the device 80 us.",
  step_us: 100,
  host_us: 95,
  device_us: 80,
  communication_us: 0,
  data_us: 0,
  host_side_us: 95,
  device_side_us: 80,
  margin_us: 5,
  once_us: 0,
  later_step_us: null,
  unrecorded_step_us: null,
  unrecorded_bound: null,
  unrecorded_sentence: null,
};

const NO_COMPILED_CODE: Pick<ReportData, "compiled" | "compiled_regions"> = {
  compiled: null,
  compiled_regions: [],
};

function withoutMeans(rest: Partial<ReportData>): Omit<ReportData, "per_step"> {
  return withIds({
    schema: 1,
    trace: TRACE,
    totals: {
      device_busy_us: { "0": 80 },
      backward_device_us: 10,
      forward_device_us: 5,
      forward_compute_us: 5,
      optimizer_device_us: 1,
      sync_count: 0,
      sync_blocked_us: 0,
      backward_sync_count: 0,
      device_wait_count: 0,
      queue_full_count: 0,
      queue_full_us: 0,
      device_us_by_kind: { matrix: 16 },
      communication_device_us: 0,
      tensor_core_us: 0,
      tensor_core_unknown_us: 0,
      profiler_sync_count: 0,
      profiler_sync_us: 0,
      sync_waited_us: 0,
      sync_transfer_us: 0,
      unplaced_graph_us: 0,
    },
    steps: [step("ProfilerStep#1")],
    modules: [
      module("", null, { class: "Model", backward: work(9, 1) }),
      module("blocks", "", { class: "Sequential", backward: work(6, 0) }),
      module("blocks.0", "blocks", { class: "Block", backward: work(2) }),
      module("blocks.1", "blocks", { class: "Block", backward: work(4) }),
      module("head", "", { backward: work(2) }),
    ],
    nodes: [],
    syncs: [],
    allocations: [],
    coverage: {
      backward_device_us: 10,
      unattributed_us: 1,
      backward_host_us: 20,
      unattributed_host_us: 2,
      by_evidence: { sequence_number: 9 },
      measure: "device",
      by_evidence_host: {},
      by_origin: { recorder: 9 },
      communication_device_us: null,
      unattributed_communication_us: null,
      unattributed_by_reason: { graph_launch: 1 },
    },
    findings: [],
    verdict: VERDICT,
    critical_path_work: [],
    recorder: null,
    kernels: [],
    kernels_omitted: null,
    operators: [],
    breakdown: [],
    devices: [],
    streams: [],
    threads: [],
    memory_peaks: [],
    memory_modules: [],
    memory_operators: [],
    out_of_memory: [],
    ...NO_COMPILED_CODE,
    device_advice: null,
    ...rest,
  });
}

export function run(name: string, workers: Record<string, string[]>, modified = 1): ListedRun {
  return {
    name,
    workers: Object.entries(workers).map(([worker, traces]) => ({
      name: worker,
      traces: traces.map((id) => ({ id, file: `${worker}.${id}.json`, bytes: 1, modified })),
    })),
  };
}
