/** The tables of the report that stand by themselves: snake_case, microseconds. */

export interface WireOperator {
  name: string;
  calls: number;
  host_us: number;
  self_host_us: number;
  device_us: number | null;
  self_device_us: number | null;
}

export interface WireDeviceUse {
  device: string;
  span_us: number;
  busy_us: number;
  compute_us: number;
  communication_us: number;
  overlapped_us: number;
  kernel_us: number;
  tensor_core_us: number;
  tensor_core_eligible_us: number;
  utilization: number | null;
  sm_efficiency: number | null;
  occupancy_pct: number | null;
}

export interface WireStream {
  device: string;
  stream: string;
  count: number;
  busy_us: number;
  host_us: number | null;
  kernel_us: number | null;
  other_us: number | null;
  queue_mean: number | null;
  queue_max: number | null;
}

/** A thread of the host. */
export interface WireThread {
  /** Its name, or its number where it has none. */
  thread: string;
  process: string;
  /** "forward", "backward", "data" or "other". */
  role: string;
  busy_us: number;
  /** busy_us by phase; phases without any are left out. */
  by_phase: Record<string, number>;
  blocked_us: number;
}

/** One step with its device work, by torch_tb_profiler's categories, which sum to it. */
export interface WireBreakdown {
  step: string;
  start_us: number;
  duration_us: number;
  kernel_us: number;
  copy_us: number;
  set_us: number;
  communication_us: number;
  runtime_us: number;
  data_us: number;
  host_us: number;
  other_us: number;
}

export interface WireKernel {
  name: string;
  kind: string;
  /** "kernel", "copy" or "set". */
  event: string;
  count: number;
  graph_count: number;
  total_us: number;
  mean_us: number;
  max_us: number;
  by_phase: Record<string, number>;
  tensor_core: boolean | null;
  blocks_per_sm: number | null;
  occupancy_pct: number | null;
}

export interface WireKernelsOmitted {
  names: number;
  count: number;
  total_us: number;
}

/** All calls of one name that take or give back memory of a device, or pin memory. */
export interface WireAllocation {
  api: string;
  count: number;
  blocked_us: number;
  device_idle_us: number | null;
}

/** A rule that every trace is held against, as `hookview rules --json` prints it. */
export interface WireRule {
  id: string;
  family: string;
  title: string;
  /** false: no trace shows it, and it appears as advice under other findings. */
  visible: boolean;
  /** What in a trace makes it hold. */
  matches: string;
  fix: string;
  reference: string;
  confidence: string;
  advice: string[];
}
