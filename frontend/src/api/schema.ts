/** The answers of the server: microseconds, bytes. Made from docs/openapi.json by `make schema`; do not edit. */
/* eslint-disable max-lines */

/** What the host or the devices of a rank did; where there is no span, nothing ran. */
export interface ActivityLane {
  /** host or device; collectives are not in the latter. */
  name: string;
  spans: ActivitySpan[];
}

/** Columns of a window in which a rank was doing one thing for most of the time. */
export interface ActivitySpan {
  /** Since the start of the window. */
  start_us: number;
  /** How long these columns are together. */
  duration_us: number;
  kind: "data" | "module" | "optimizer" | "other" | "ranks" | "sync";
  /** Its path, the innermost that ran; null for what is no module. */
  module: string | null;
}

/** Something to look at that no trace shows. */
export interface Advice {
  /** Id of the rule. */
  id: string;
  title: string;
  fix: string;
}

/** Calls of one name that allocate or free memory of a device, or pin memory. */
export interface Allocation {
  id: number;
  api: string;
  /** Calls; one inside another is part of it. */
  count: number;
  /** Time in these calls. */
  blocked_us: number;
  /** The `allocator` idle time during them. */
  device_idle_us: number | null;
  /** The part of `blocked_us` in which calls that free memory waited for the device. These are syncs, and the part is in `sync_blocked_us`. */
  waited_us: number;
}

/** Device work of one direction: including children, and of the module alone. */
export interface Amount {
  /** Device events of the module and those below. */
  count: number;
  /** Sum of their durations. */
  device_us: number;
  /** Device events of the module alone. */
  self_count: number;
  /** Sum of their durations. */
  self_device_us: number;
}

/** Process groups of one name: means over the ranks that have the same place in theirs. */
export interface Balance {
  id: number;
  /** As the program described the groups, such as `mesh_pp`. */
  name: string;
  /** pipeline, tensor, data, context or expert. */
  dimension: string;
  /** Number of groups of that name. */
  groups: number;
  /** Ranks at each place: the first of the groups, the second, ... In a pipeline a place is a stage. */
  ranks: number[];
  /** As in `ranks`, mean over the ranks of a place. */
  compute_us: (number | null)[];
  /** As in `ranks`, mean over the ranks of a place. */
  communication_us: (number | null)[];
  /** As in `ranks`, mean over the ranks of a place. */
  idle_us: (number | null)[];
  /** As in `ranks`, mean over the ranks of a place. */
  wait_us: (number | null)[];
}

/** One step with its device work, by torch_tb_profiler's categories, which sum to it. What was not recorded is in none of them: without rows of the host, its time is in `other_us`. */
export interface Breakdown {
  /** As `step_id`. */
  id: number;
  step: string;
  step_id: number;
  /** Start of the step, but no earlier than the end of the one before. */
  start_us: number;
  /** Until the end of the step, or of the last device work launched in it. A step that the trace marks has the time of `left_out_us` of `steps[]`, as in torch_tb_profiler; another has not. */
  duration_us: number;
  /** Kernels that are not a collective's. */
  kernel_us: number;
  /** Copies. */
  copy_us: number;
  /** Sets. */
  set_us: number;
  /** Kernels of collectives, and the `nccl:`, `gloo:`, ... rows of the host. */
  communication_us: number;
  /** Calls of the device's runtime or driver. */
  runtime_us: number;
  /** `DataLoader` annotations. */
  data_us: number;
  /** Operators and annotations. */
  host_us: number;
  /** The rest: Python between operators, or nothing. */
  other_us: number;
}

/** One call of a module, or a bin of consecutive calls. */
export interface CallRow {
  /** Event of the call, the row of the trace that shows it; of a bin, of its first call. */
  id: number;
  /** 1, or how many calls the bin holds; times are then their sums. */
  calls: number;
  /** Start of the first call, on the trace's own clock. */
  start_us: number;
  /** Length of the call on the host. That of a bin is from its first start to its last end. */
  duration_us: number;
  /** As `forward.host_us` of the module. */
  forward_host_us: number;
  /** As `forward.compute_us` of the module. */
  forward_compute_us: number | null;
  /** As `backward.host_us` of the module, of the nodes that the call made. */
  backward_host_us: number;
  /** As `backward.compute_us` of the module, of the nodes that the call made. */
  backward_compute_us: number | null;
  /** As `communication_us` of the module, forward and backward together. */
  communication_us: number | null;
  /** Start of the first of its autograd nodes; null where none ran. */
  backward_start_us: number | null;
  /** From there to the end of the last one. */
  backward_duration_us: number | null;
}

/** Calls by start, without recomputed ones. Rows and `unplaced` sum to the module's row. */
export interface CallsOverTime {
  /** Calls. */
  count: number;
  /** Whether a row is a bin of consecutive calls: from 2,000 calls on. */
  binned: boolean;
  rows: CallRow[];
  unplaced: Unplaced;
  /** The most expensive single call by each measure; measures without any time are left out. */
  slowest: Record<string, CallRow>;
}

/** What took longer than in the median step. */
export interface Cause {
  rank: number;
  /** data, forward, backward, optimizer, garbage collection or other. */
  part: string;
  /** Block of the model, of forward and backward; null where no block did. */
  block: string | null;
  /** By how much, mean over the slow steps. */
  excess_us: number;
}

/** A row around an event. */
export interface ChainLink {
  kind: "annotation" | "call" | "line" | "module" | "node" | "operator";
  text: string;
  /** Id of the event; null for what is on no lane. */
  id: number | null;
}

/** One collective, matched over the ranks that took part. */
export interface Collective {
  id: number;
  /** `all_reduce`, ...; "" for unknown. */
  name: string;
  /** Process group by name and ranks; "" where no trace names it. */
  group: string;
  /** Number in its group: as the traces number them, else counted over the run. */
  sequence: number;
  /** Step that launched it on the first rank that took part, as of `rank_steps`; null for none. */
  step: string | null;
  /** Bytes of the whole operation, of the rank that has most where they differ (an uneven all-to-all); null for unknown. */
  bytes: number | null;
  /** Number of ranks in the run that took part. */
  ranks: number;
  /** First start, on the clock of the run's first rank. */
  start_us: number;
  /** Shortest duration over the ranks. */
  transfer_us: number;
  /** Mean over the other ranks of how much their duration exceeds the shortest, as in `ranks`. */
  wait_us: number;
  /** The part of it that earlier collectives of the same ranks have not shown: where no host waits in between, a rank that was late once comes as late to the next ones. */
  new_wait_us: number;
  /** The rank with the shortest duration: it came last. Null where the others waited too little for that, and of a collective with a root (broadcast, reduce, gather, scatter), whose ranks do not leave together. */
  late_rank: number | null;
  /** Its start on that rank, on the clock of that rank's own trace. */
  late_start_us: number | null;
  /** Module on which it spent more time than the others since their last collective, or since the start of the step where they had none before; null for none, and where that explains less than a quarter of `new_wait_us`. */
  late_module: string | null;
  /** What it spent that time on: module, data, optimizer, sync, host, device; null for unknown. It is host, too, where none of these is long enough and its device waited for launches. */
  late_reason: string | null;
  /** Time of the straggler before it, less that of the next latest; null for unknown. */
  late_by_us: number | null;
  /** Bytes over transfer time by the factor of nccl-tests for its kind, 10^9 bytes per second. */
  bus_gb_per_s: number | null;
}

/** Matched collectives of one kind. */
export interface CollectiveKind {
  id: number;
  /** `all_reduce`, ...; "" for unknown. */
  name: string;
  /** Number of matched collectives. */
  count: number;
  /** Sum of what is known; null where nothing is. */
  bytes: number | null;
  /** Sum over them. */
  transfer_us: number;
  /** Sum over them of the mean wait of a rank; a delay counts in each that it delays. */
  wait_us: number;
  /** Number of them by transfer time, between the `edges_us` of the run. */
  transfers: number[];
  /** The same by wait; those below the first edge are in the first. */
  waits: number[];
}

/** One collective on some of the ranks that took part, on the clock of the run's first rank. */
export interface CollectiveRanks {
  /** Why they cannot be shown on one clock, in one line; null where they can. */
  refused: string | null;
  /** Time that is shown: the collective, and half of its length before it and after it. */
  length_us: number;
  /** As in `collectives`. */
  transfer_us: number;
  /** Largest `clock_spread_us` of these ranks: how far moments of different ranks are comparable. Null where one is unknown. */
  clock_spread_us: number | null;
  /** Ranks before the first one here, the straggler not counted: it is always here. */
  offset: number;
  /** Ranks after the last one here. */
  left_out: number;
  /** Empty where it is refused. */
  ranks: RankPart[];
}

/** Matched collectives of one kind, size and number of ranks, with known bandwidth. */
export interface CollectiveSize {
  id: number;
  name: string;
  /** Bytes of the whole operation. */
  bytes: number;
  /** Number of ranks that took part. */
  ranks: number;
  /** Number of such collectives. */
  count: number;
  /** Median of their transfer times. */
  transfer_us: number;
  /** Median of their bus bandwidths, 10^9 bytes per second. */
  bus_gb_per_s: number;
  /** Bus bandwidth of the fastest. */
  max_bus_gb_per_s: number;
}

/** Changes between two traces, with the names of all steps of each. */
export interface Compared {
  comparison: Comparison;
  base_steps: string[];
  other_steps: string[];
}

/** The difference of two reports: means per step, and the other side less the base. */
export interface Comparison {
  schema: number;
  /** "device" where both traces hold the device time of their backward pass, or of a forward without one, else "host". */
  measure: string;
  base: Side;
  other: Side;
  /** Mean length of a step on the host. */
  step_us: Pair;
  /** Time of the forward, by `measure`: `totals.forward_compute_us` or `steps[].forward_us`. */
  forward_us: Pair;
  /** Time of the backward, by `measure`: as `coverage.backward_device_us` less its communication, which `device_us_by_kind` has, or its host time. With that of the modules and `backward_unattributed_us` it adds up. */
  backward_us: Pair;
  /** The part of it that belongs to no module. */
  backward_unattributed_us: Pair;
  /** Syncs, without the profiler's own. */
  syncs: Pair;
  /** Sum of their durations. */
  sync_blocked_us: Pair;
  /** Those that changed most first, as in each of the tables below. */
  modules: ModuleChange[];
  /** Mean length of a step on the device, `verdict.step_us`, where it is longer there than on the host, and the step is bound by device or communication (`verdict.bound`) or their work alone takes longer; else as `step_us`: in a host-bound loop the device catches up in the next step. */
  whole_step_us: Pair;
  /** `verdict.unrecorded_step_us`: steps without what recording cost, an estimate. Null where that made neither side's step 5% longer or more: then recorded steps can be compared as they are. */
  unrecorded_step_us: Pair;
  /** `whole_step_us.base` divided by `whole_step_us.other`: 2 is twice as fast. Null where a side has no steps. */
  speedup: number | null;
  /** The host's phases, which sum to `step_us`. */
  phases_us: Record<string, Pair>;
  /** Time in which the devices did any work, summed over them. */
  device_busy_us: Pair;
  /** Time in which they did none. */
  device_idle_us: Pair;
  /** `device_idle_us` by its cause, summing to it; empty where neither side has it. */
  idle_us: Record<string, Pair>;
  /** All device work by its kind. */
  device_us_by_kind: Record<string, Pair>;
  /** By cause and call site. They sum to `syncs` and `sync_blocked_us`, which leave out the profiler's own call. */
  sync_sites: SyncChange[];
  /** Device work by name; with `kernels_omitted_us` it sums to `device_us_by_kind`. */
  kernels: KernelChange[];
  /** Device work of the names that a side's table of kernels leaves out. */
  kernels_omitted_us: Pair;
  findings: FindingChange[];
  /** Of `duration_us` and the other times of `steps`, by the field's name. */
  spread: Record<string, SpreadPair>;
  /** Peaks by device; empty where neither trace records memory. */
  memory: MemoryChange[];
}

/** Calls of compiled graphs (`## Call CompiledFxGraph`) in a trace with our recorder's map. */
export interface CompiledGraphs {
  /** Calls of graphs, in forward and backward. */
  calls: number;
  /** Calls whose rows agree with the map. What the others ran stays with the module around the compiled region. */
  placed: number;
  /** The others by reason: no map of the graph (a cache that was filled without the recorder, say), a map of other modules, rows that differ from the map, calls of modules or nodes inside. */
  whole_by_reason: Record<string, number>;
  forward: PlacedTime;
  backward: PlacedTime;
}

/** Compiled code in a module that is not broken down by the modules that it ran. */
export interface CompiledLump {
  /** Calls of graphs, in forward and backward; of regions where the trace has no graphs. */
  calls: number;
  /** Host time of the calls. */
  host_us: number;
  /** Device work launched in them that is charged to the module; null without launches. */
  device_us: number | null;
}

/** Compiled code by region, graph and operators, of any recorder. */
export interface CompiledRegion {
  id: number;
  /** `Torch-Compiled Region: compile id`; of a backward the one of its forward. Null for unknown, and for generated kernels that ran in no region. */
  region: string | null;
  /** Key of the graph, as in `## Call CompiledFxGraph key ##`. */
  graph: string | null;
  compile_id: string | null;
  backward: boolean;
  /** The operators in the name of a generated kernel (`add_relu` of `triton_poi_fused_add_relu_1`), else the extern call (`aten::mm`); "" for host time between them: the code around kernels, and on a CPU generated kernels, which leave no rows. */
  operators: string;
  /** Whether they are one kernel that Inductor generated. */
  generated: boolean;
  /** Rows of calls; of a replayed CUDA graph its kernels. */
  calls: number;
  /** Time of the rows of these calls. */
  host_us: number;
  /** Device work launched in them; null where the trace has no launches. */
  device_us: number | null;
}

/** The part of the backward pass that was attributed, by evidence. */
export interface Coverage {
  /** All device work launched inside a node, whatever launched it. Equals `totals.backward_device_us` and the sum over modules of `backward.self_device_us` plus `unattributed_us`. */
  backward_device_us: number | null;
  /** The part of it that belongs to no module. */
  unattributed_us: number | null;
  /** Time of all nodes, each less the evaluations nested in it. Equals the sum over modules of `backward.self_host_us` plus `unattributed_host_us`. Null, as the next, where the trace has no operators, nodes or marks that would show a backward pass. */
  backward_host_us: number | null;
  /** The part of it that belongs to no module. */
  unattributed_host_us: number | null;
  /** Attributed backward time by evidence. It is device time where there is any, else host time; `measure` says which. */
  by_evidence: Record<string, number>;
  /** "device" or "host". */
  measure: string;
  /** Attributed backward host time by evidence. */
  by_evidence_host: Record<string, number>;
  /** The rest, in `measure`, by reason: a gradient whose parameter is not known (no gradient mark), a node whose forward operator is not in the trace, a forward operator that ran in no module, a trace that names no modules at all, a launch in a range by which a pipeline marks its backward, outside of autograd nodes. */
  unattributed_by_reason: Record<string, number>;
  /** Attributed backward time, in `measure`, by what names the module: `recorder` (marks or the manifest), `lightning`, `python_stack` (the stack's own label, `Linear_3`), `annotation` (no module at all: a range that somebody put around the forward). */
  by_origin: Record<string, number>;
  /** The part of `backward_device_us` that is communication. */
  communication_device_us: number | null;
  /** The part of `unattributed_us` that is communication. */
  unattributed_communication_us: number | null;
}

/** A device that did any work. */
export interface Device {
  /** Device index as the trace numbers it, as text ("0"). */
  id: string;
  name: string;
  /** "cuda", "hip", "ze" or "ur" (XPU); "device" where the runtime is unknown. */
  kind: string;
}

/** Work and idle time of one device in a window. */
export interface DeviceStatistics {
  id: string;
  name: string;
  /** Time in which any work ran. */
  busy_us: number;
  /** Time in which none did. */
  idle_us: number;
  /** `idle_us` by cause, as the report's `steps[].idle`; sums to it. */
  idle_by_cause: Record<string, number>;
}

/** Use of the time of one device. */
export interface DeviceUse {
  /** As `device`. */
  id: string;
  device: string;
  /** From the first start to the last end of the selected work. */
  span_us: number;
  /** The part of it in which any work ran. */
  busy_us: number;
  /** Time in which any kernel ran that is not a collective's. That of a rank (`hookview ranks`) is a mean per step, and has copies and sets too. */
  compute_us: number;
  /** Time in which any kernel of a collective ran. */
  communication_us: number;
  /** Time in which both ran. */
  overlapped_us: number;
  /** Sum of the kernels' durations. */
  kernel_us: number;
  /** The part of it on tensor cores, by the kernels' names. */
  tensor_core_us: number;
  /** The part of it launched by an operator that tensor cores could serve (the list is in `kinds.py`) and that holds no other such operator, and all of `tensor_core_us`. Where the trace lacks the operator of a kernel (a replayed graph, a launch before the recording), it is eligible only if it ran on them. Null where the trace has no launches by operators. */
  tensor_core_eligible_us: number | null;
  /** Share of the selected steps as in `breakdown` (from the first one's start to the last one's end) in which any kernel ran. Copies do not count. */
  utilization: number | null;
  /** Mean over the same time of the sum of `blocks per SM` of the kernels that run, of which at most one counts; null where these arguments are not in the trace (AMD, torch's second exporter). */
  sm_efficiency: number | null;
  /** Mean of `est. achieved occupancy %`, weighted by the kernels' time in it; null where it is not in the trace (AMD, torch's second exporter). */
  occupancy_pct: number | null;
}

/** A dry run: no GPU, so no times. */
export interface DryRunReport {
  schema: number;
  kind: string;
  /** The script; "" where the program called `dry_run` itself. */
  program: string;
  torch_version: string;
  python_version: string;
  /** CUDA devices that were there for the program. */
  devices: number;
  /** Steps that were completed. */
  steps: number;
  /** Steps that limits are about: without the first, which holds the preparation, if there are others. */
  measured: number[];
  /** Syncs of the measured steps: certain, and not allowed. */
  sync_count: number;
  /** The most of those in one step. */
  most_per_step: number;
  syncs: DrySync[];
  /** What this run did otherwise than a GPU would. */
  notes: string[];
  /** What no dry run can know. */
  unknown: string[];
  /** Entries of the list of those allowed that matched nothing. */
  unused_allowances: string[];
}

/** A place where the host would wait for the device in one step, and how often. */
export interface DrySync {
  id: number;
  /** Number of the step, from 0; the first one holds what precedes it too. */
  step: number;
  /** "forward", "backward", "optimizer" or "other". */
  phase: string;
  /** The operator that holds the sync, as a recording names it; of an explicit one the call of the CUDA runtime. */
  operator: string;
  /** The operator around it, where that is known. */
  within: string | null;
  /** Autograd node of the backward pass. */
  node: string | null;
  /** Path below the root of the model; in the backward pass that of the forward that made the node. Null where there is no module. */
  module: string | null;
  module_class: string | null;
  /** "file.py:12", the program's innermost line; null where no frame is the program's. */
  line: string | null;
  /** The file in full. */
  file: string | null;
  /** Last line of the expression; with both columns null before Python 3.11. */
  last_line: number | null;
  /** First column of the expression, from 0, in bytes. */
  column: number | null;
  last_column: number | null;
  /** The whole statement, in one line; "" where the source is unknown. */
  code: string;
  /** The line of torch's Python code in which it is. */
  via: string | null;
  /** In the backward pass the line of the forward operator that made the node. */
  forward_line: string | null;
  forward_code: string | null;
  /** The program's frames, innermost first: "file.py(line): function". */
  stack: string[];
  /** Id of the rule of the trace's findings that such a sync belongs to. */
  cause: string;
  /** The rule's title. */
  title: string;
  /** The rule's fix. */
  fix: string;
  /** What the host waits for. */
  reason: string;
  /** Bytes that are copied, each time; null where nothing is. */
  nbytes: number | null;
  /** False where the driver decides whether the host waits. */
  certain: boolean;
  /** Times in this step that torch's own code waits; one for each call of an operator in which only a library does, however often. */
  count: number;
  /** The reason why it may be there, from the list of those allowed; null elsewhere. */
  allowed: string | null;
}

/** The body of every answer with an error's status. */
export interface ErrorAnswer {
  error: ErrorDetail;
}

/** Reason for the lack of an answer. */
export interface ErrorDetail {
  kind: "internal" | "not_found" | "trace" | "unwanted" | "usage";
  /** One line for a person. */
  message: string;
}

/** All that is known of one event; what does not apply to it is null. */
export interface EventDetail {
  id: number;
  /** Id of the lane that shows it. */
  lane: string;
  /** Its row of the lane, from 0. */
  depth: number;
  name: string;
  /** Row of the timeline's colours. */
  colour: number;
  /** Start of the event. */
  start: number;
  /** Length of the event. */
  duration: number;
  /** Category of a row of the trace, or what the analysis made the event of. */
  category: string;
  thread: string | null;
  device: string | null;
  stream: string | null;
  step: string | null;
  phase: string | null;
  module: string | null;
  node: string | null;
  /** Evidence for the module of a node, or of its device work. */
  evidence: string | null;
  /** Reason for which the module is unknown. */
  no_module: string | null;
  /** Of a host row: less the host rows inside. Of a phase: without the gaps. */
  self_us: number | null;
  /** Device work launched inside a host row or a module. */
  device_us: number | null;
  /** From what is around the event outwards. */
  chain: ChainLink[];
  links: EventLink[];
  /** Links beyond the first 200. */
  links_omitted: number;
  /** Arguments in the file as text; null where it cannot be read any more. */
  args: Record<string, string> | null;
}

/** An event that another one is related to. */
export interface EventLink {
  id: number;
  /** Id of the lane that shows it. */
  lane: string;
  /** Its row of the lane, from 0. */
  depth: number;
  name: string;
  /** Row of the timeline's colours. */
  colour: number;
  /** Start of the event. */
  start: number;
  /** Length of the event. */
  duration: number;
  /** Reads from the event to what is linked. */
  relation:
    | "backward of"
    | "caused by"
    | "ended by"
    | "follows"
    | "forward of"
    | "launched by"
    | "launches"
    | "leads to"
    | "left idle"
    | "runs"
    | "waited for by"
    | "waits for";
  /** Kind of the link; null where it only says what is around or inside. */
  kind:
    | "autograd"
    | "collective"
    | "cross_stream"
    | "handover"
    | "host"
    | "idle"
    | "launch"
    | "origin"
    | "queue"
    | "stream"
    | "sync"
    | null;
  /** What in the trace shows it; null where nothing needs to. */
  evidence:
    | "calls of the runtime"
    | "correlation id"
    | "flow"
    | "order"
    | "sequence number"
    | "times"
    | null;
}

/** An event: which, where, when. */
export interface EventSummary {
  id: number;
  /** Id of the lane that shows it. */
  lane: string;
  /** Its row of the lane, from 0. */
  depth: number;
  name: string;
  /** Row of the timeline's colours. */
  colour: number;
  /** Start of the event. */
  start: number;
  /** Length of the event. */
  duration: number;
}

/** One thing that costs time and could be changed: a rule at a place. Times per step are means over the measured steps: those that `steps[].counts` names. */
export interface Finding {
  /** `rule:where`; the report numbers those that share it. */
  id: string;
  /** Id of the rule. */
  rule: string;
  /** By the gain (`unrecorded_gain_us_per_step`, where known), else by the cost, the mean of several devices, or, of exposed communication, by what a replay without any saves, if less: `high` from 5% of the step, `medium` from 1%, `low` below; `info` where it costs and gains nothing in this trace. A trace that shows no steps counts without its set-up: idle time of 1 ms and more at a time while code is loaded, memory is allocated or the host does other things (but for what each quarter of the trace has a tenth of), and of 10 ms and more for unknown reasons. */
  severity: string;
  title: string;
  /** Module and node or operator, as a person reads it. */
  where: string;
  /** Path of the module; null where there is no module, and for several modules. */
  module: string | null;
  module_id: number | null;
  /** Device idle time charged to the finding, plus device time spent on work that could be avoided. Each moment of idle time (see `steps[].idle`) is charged to at most one finding, that of the first rule in priority, and so is each nanosecond of a device event that could be avoided; `evidence` says how much of it was charged to others. Where the model ran on the CPU, or waits for other ranks without a device in the trace, it is time of the host. Null where the trace does not say what the device did. */
  cost_us_per_step: number | null;
  /** The part of it that is device time spent on work that could be avoided; the rest is idle time of the devices, or time of the host. Null where the cost is. */
  device_work_us_per_step: number | null;
  /** Time that it takes once in a run, in its first step or as code is loaded or compiled, where it happens once: such a finding is of severity `low` at most, and comes after those that recur (where none saves 0.5% of the step only after those that cost as much; compilation that takes most of a trace without steps before them). Null for these. */
  once_us: number | null;
  /** How much shorter a step is in a replay without the cause: syncs do not wait, nor do those right after them that would wait for the same work instead (a caveat says what they save alone); loaders, copies and allocations take no time, nor does what the host did while it made the device idle, and avoidable device events are gone or shorter. Gains of several findings do not add up; a replay without all of them (`whatif`) says what they gain together. Null where there is no replay; `gain_unknown` then says why. */
  gain_us_per_step: number | null;
  /** The same in later steps, that are not recorded: in replays without what recording cost the host, an estimate by the rows of the trace (`verdict.unrecorded_step_us`), and without kernel loading, which happens once. Findings are ordered by it, those of unknown gain by what their cost has on the critical path; before them stands what dominates the trace though it happens once, and waiting in every step for the loader's workers. Null where `gain_us_per_step` is, and where no kernel is loaded and the cost of recording is unknown, as that field. */
  unrecorded_gain_us_per_step: number | null;
  /** Whether that estimate differs from `gain_us_per_step` by over a tenth of the larger of both: then it is what is shown. */
  gain_is_estimated: boolean;
  /** Bound of the gain without a replay: the charged idle time, no more than the devices idled in a step, plus the part of the avoidable work that goes. It overlooks what would limit the step then, that syncs hold the host back beyond their duration, and launches that go with kernels. Null where what goes is more than what it costs, as a forward that runs again: its device time is the cost; null, too, where most launches have no device events. Where the trace does not show what the fix gains, and the cost is device work alone: how much shorter a step is in a replay without all of it, of collectives without any communication, recorded or later, whichever is more, and no more than the cost. */
  gain_bound_us_per_step: number | null;
  /** Reason for which `gain_us_per_step` is null. */
  gain_unknown: string | null;
  /** What has to get faster first, where the finding saves next to nothing now: `host`, with data loading, or `device`, with communication. Without that it saves over ten times as much in a replay. Null where the finding saves 0.5% of the step, costs less, saves less than that even then, or it is unknown. */
  saves_after: string | null;
  /** Whether it is left out where only what is worth changing first is listed: it saves less than 0.5% of the step, also after the other side is faster, or, where its gain is unknown, costs nothing. */
  negligible: boolean;
  /** The observation, with its figures. */
  evidence: string;
  fix: string;
  /** Certainty that the events prove the cause, "high", "medium" or "low": the rule's, or less where an occurrence rests on weaker evidence. */
  confidence: string;
  /** Source to read on. */
  reference: string;
  /** Related rules that no trace shows, to look at as well. */
  advice: Advice[];
  /** Number of times the rule holds in the measured steps. */
  count: number;
  /** Starts of the first 20 of these; of syncs: `syncs[].start_us`. */
  examples: number[];
  /** Length of the longest call, device event, sync, idle time or step that begins at each of `examples`, or of idle time charged to the finding that begins as a step does; null where none does: a moment. */
  examples_us: (number | null)[];
  /** The event of that length, or the call that held the longest part of the sync; null for idle times, steps and moments. */
  examples_event_id: (number | null)[];
  /** Syncs of the measured steps which it explains. */
  sync_ids: number[];
  /** Reasons for which the figures may be wrong: stacks and shapes recorded, which slow the host (given where idle time is charged); a gain that holds under conditions. */
  caveats: string[];
}

/** One finding: gone, new, or of another cost. A finding is found again by rule and place, else by rule and module, else by rule where it is there once on each side. */
export interface FindingChange {
  id: string;
  base_id: string | null;
  other_id: string | null;
  rule: string;
  title: string;
  fix: string;
  status: "appeared" | "changed" | "moved" | "same" | "unknown" | "unlisted" | "vanished";
  base_where: string | null;
  other_where: string | null;
  base_module: string | null;
  base_module_id: number | null;
  other_module: string | null;
  other_module_id: number | null;
  /** `cost_us_per_step` of the finding. */
  cost_us: Pair;
  /** `gain_us_per_step` of the finding. */
  gain_us: Pair;
  /** `once_us` of the finding: what happens once is spent in no other step. */
  once_us: Pair;
}

/** A watched training run. */
export interface History {
  schema: number;
  path: string;
  /** Ranks of the run, by its process group. */
  world_size: number;
  /** Ranks without a file. */
  missing_ranks: number[];
  /** Watches of the same ranks that began earlier, and are left out. */
  earlier: number;
  first_step: number;
  last_step: number;
  /** Median of the ranks' medians; null without a measured step. */
  step_us: number | null;
  /** Garbage collections per step, mean over ranks. */
  gc_per_step: number | null;
  ranks: WatchedRank[];
  points: HistoryPoints;
  recordings: WatchedRecording[];
  /** The most expensive first, 100 at most. */
  slow_steps: SlowSteps[];
  /** Slow steps in all. */
  slow_steps_total: number;
  /** Time by which all of them together were longer than the medians before them. */
  slow_excess_us: number;
  /** The worst first. */
  slow_ranks: SlowRank[];
}

/** The training in as many parts as a picture has room for; a list has one value for each. */
export interface HistoryPoints {
  /** First step. */
  first: number[];
  /** Last step. */
  last: number[];
  /** Shortest step of any rank; null without a measured step, as what follows. */
  min_us: (number | null)[];
  /** Median step of all ranks. */
  median_us: (number | null)[];
  /** Longest step of any rank. */
  max_us: (number | null)[];
  /** Median step by rank, of at most 16 ranks: those that differ most. */
  ranks: Record<string, (number | null)[]>;
  /** Mean over ranks of the medians of data, forward, backward, after_backward, optimizer, garbage collection and other, which is the rest of the step. */
  parts: Record<string, (number | null)[]>;
  /** By block, mean over ranks. */
  forward: Record<string, (number | null)[]>;
  /** By block, mean over ranks. */
  backward: Record<string, (number | null)[]>;
}

/** Idle time of the devices by cause. The parts sum to `device_idle_us`, to the nanosecond. A moment of idle time has the first of these causes that holds. A cause is null where the trace has no rows of the host that would show it (calls of the device's runtime, operators, annotations): the time is in `unknown` then. */
export interface Idle {
  /** The host was in a sync, or after one, as in `syncs[].device_idle_us`. After a sync only where none of `data_loading`, `copy`, `allocator` and `profiler` holds. The sum over syncs equals the sum over steps, but for syncs before, after or across steps: the part is counted where the idle time lies, the sync where it began. */
  sync: number | null;
  /** The host was inside a `DataLoader` annotation. */
  data_loading: number | null;
  /** A thread that launches work was inside a synchronous copy, or one of memory that is not pinned, while the device had nothing to do (its copy had not begun). */
  copy: number | null;
  /** A thread that launches work was inside a call that allocates or frees memory (see `kernel_loading`). */
  allocator: number | null;
  /** A thread that launches work was loading the code of kernels, as one of these shows. (1) A call that loads modules. (2) The first launch of a kernel in the trace, over 20 times the median of the call's later ones until the kernel began, without a wait, copy or allocation in it. (3) An operator in which a library (cuBLAS, cuDNN, MIOpen) starts, until it launches its first kernel: the first of its name that launches any, over 20 times later than the median of the others (of all others where none has its name). In it is `hipInit`, or `cudaFree` next to a call for properties of the device, or as the first call and before `cudaMalloc` where the operator is mostly in no call. Calls that allocate in it are `allocator`. (4) Such a `cudaFree` elsewhere, over 20 times the median of other calls that allocate or free; as the trace's first call, before all device work, over 100 times the longest of these. (5) A scripted function until a kernel of TorchScript's fuser first runs, 1 ms or more in no call, in which it compiles. (6) A call that launches nothing, for more than half of which the driver recorded that it loads. (7) A call of over 50 us that asks about a kernel (`cudaFuncGetAttributes`, `cudaFuncSetAttribute`, `cudaOccupancyMaxActiveBlocksPerMultiprocessor` and the like). (8) Other rows in which the driver does. Where Kineto does not know the driver's kinds of rows, those named `Unrecognized` are of loading that lie in such a call, in a first launch, or in a call that looks up a function or variable. */
  kernel_loading: number | null;
  /** The next work was launched too late: its launch began after the gap did (less the launch latency), or the launching call of a kernel was still open then. The host had other things to do. The time ends with the launching call, or one launch latency after it began if that is later; a start up to one more latency later is part of it. Before the launch of a device's first work the launching thread was in anything recorded, and the device then started that work at once. After the last work of the only device the host launched nothing more, up to its last call that waits for the whole device, also the profiler's own: that shows the device idle. */
  launch: number | null;
  /** The host was inside a collective of gloo, MPI or UCC, or a barrier; or the next work had been launched by then and was a collective's copy; or it had been launched in time and the work before was one. Kernels of collectives (NCCL) wait for other ranks as they run, not before: that time is busy. What is launched after a collective's end waits for no other rank. */
  communication: number | null;
  /** The profiler recorded overhead of its own, or was inside its own sync. `overhead` rows of the driver (loading of modules, a full command buffer) are not the profiler's. Or a thread was in the trace's first launch, and this alone is by (2) of `kernel_loading`, with ten or more other kernels launched, and nothing else loads: the profiler had just started. */
  profiler: number | null;
  /** The next work had been launched by then, or before the trace began: the device idled although work was queued, or for something the trace does not show. */
  device: number | null;
  /** Before the launch of a device's first work, where `launch` does not hold; between the launch and a late start of the first work of a device or a stream, as it is not in the trace what was queued before; after its last work, where `launch` does not hold; before work whose launch is not in the trace; whatever else holds, from a launch whose work is not in the trace to the first work launched later. */
  unknown: number;
}

/** Inputs of some calls of a module, as far as their first operator shows them. */
export interface InputShapes {
  operator: string;
  /** Shapes of the operator's inputs as the trace writes them; `[]` without a shape. */
  dims: unknown[];
  /** Calls with these inputs. */
  calls: number;
}

/** Device events of one name and kind: a kernel, copy or set. */
export interface Kernel {
  id: number;
  name: string;
  /** Kind of device work. */
  kind: string;
  /** The request to the device: "kernel", "copy" or "set". */
  event: string;
  /** Device events. */
  count: number;
  /** Those of a graph: launched by a `*GraphLaunch` call, or with a `graph id`. */
  graph_count: number;
  /** Sum of their durations. */
  total_us: number;
  /** Mean of their durations. */
  mean_us: number;
  /** The shortest of them. */
  min_us: number;
  /** The longest of them. */
  max_us: number;
  /** `total_us` by the phase of the launch, an unknown phase's in `other`. Work without a launch in the trace is in none. */
  by_phase: Record<string, number>;
  /** Whether it ran on tensor (matrix) cores, by its name; null where unknown. Only `matrix`, `convolution` and `attention` can. */
  tensor_core: boolean | null;
  /** Mean of `blocks per SM`, weighted by duration; events without it do not count. Null where it is not in the trace (AMD, torch's second exporter), or in that of less than half of the time. */
  blocks_per_sm: number | null;
  /** Mean of `est. achieved occupancy %`, weighted by duration; events without it do not count. Null where it is not in the trace (AMD, torch's second exporter), or the profiler does not know it (it writes 0, although each multiprocessor has a warp) for more than half of the time. */
  occupancy_pct: number | null;
}

/** Device work of one name. */
export interface KernelChange {
  id: string;
  base_id: number | null;
  other_id: number | null;
  name: string;
  kind: string;
  event: string;
  status: "appeared" | "changed" | "moved" | "same" | "unknown" | "unlisted" | "vanished";
  /** Device events. */
  count: Pair;
  /** Sum of their durations. */
  total_us: Pair;
}

/** Modules that launched kernels, copies or sets with a text in their names themselves. */
export interface KernelSearch {
  /** Different names that hold the text, whether a module launched them or not. */
  names: number;
  /** In the order of the report's modules, each once. */
  paths: string[];
  /** Modules found beyond the first 2,000. */
  omitted: number;
}

/** Device work of one name and kind in the module or those below it. */
export interface KernelUse {
  /** Row of the report's kernels, which are cut to the most expensive names. */
  id: number;
  name: string;
  kind: string;
  /** "kernel", "copy" or "set". */
  event: string;
  tensor_core: boolean | null;
  forward: Amount;
  backward: Amount;
  /** A part of `backward`. */
  recompute: Amount;
}

/** Sum of the rows left out of the list of kernels: the cheapest names. */
export interface KernelUseOmitted {
  /** Names of kernels, copies and sets. */
  names: number;
  forward: Amount;
  backward: Amount;
  recompute: Amount;
}

/** Sum of the rows left out of the kernel table: the cheapest names. */
export interface KernelsOmitted {
  /** Names left out. */
  names: number;
  /** Device events of these names. */
  count: number;
  /** Sum of their durations. */
  total_us: number;
}

/** What is known of the newest trace of a worker without reading it: its report was cached. */
export interface KnownTrace {
  run: string;
  worker: string;
  /** Mean length of its steps: on the device where they take longer there, else on the host. */
  step_us: number | null;
  /** Names of its devices, each once; empty without device events. */
  devices: string[];
  /** `verdict.bound` of its report, as the next. */
  bound: "communication" | "data" | "device" | "even" | "host" | "unknown";
  sentence: string;
}

/** Blocks to draw of a lane, by depth, then by start; equally long lists. */
export interface LaneBlocks {
  id: string;
  /** Start of each block. */
  start: number[];
  /** Length of each block; of merged events, from the first start to the last end. */
  duration: number[];
  depth: number[];
  /** Rows of the window's names; -1 where events of several names are merged. */
  name: number[];
  /** Rows of the timeline's colours. */
  colour: number[];
  /** Events in each block; 1 for an event by itself. */
  count: number[];
  /** Id of the event, -1 for a merged block. */
  event: number[];
}

/** A number over time; each value holds until the next. */
export interface LaneCurve {
  id: string;
  /** Start of each value. */
  start: number[];
  /** Device events that were launched and have not begun; of a lane of memory bytes. */
  value: number[];
}

/** Parts of the log directory that are not listed. */
export interface LeftOut {
  /** Links that lead out of it. */
  links: number;
  /** Folders that cannot be listed. */
  folders: number;
}

/** A folder with traces. */
export interface ListedRun {
  /** Its path relative to the log directory, "." for that itself. */
  name: string;
  workers: ListedWorker[];
}

/** One trace file. */
export interface ListedTrace {
  /** The digits in the file's name; its name where two files have the same. */
  id: string;
  file: string;
  /** Size of the file, as it lies on the disk. */
  bytes: number;
  /** Since 1970. */
  modified: number;
}

/** The traces that one process wrote, newest first. */
export interface ListedWorker {
  name: string;
  traces: ListedTrace[];
}

/** Marks of the recorder that began within the selected steps, on any thread, by kind. */
export interface Marks {
  /** Forward ranges. */
  forward: number;
  /** Gradient marks. */
  gradient: number;
  /** Marks before and after a module's backward, each counted. */
  backward: number;
  /** Ranges around calls that scale or clip gradients. */
  function: number;
}

/** Memory of a trace, seen from one device in a window of time. */
export interface MemoryAnswer {
  /** Whether the trace was recorded with `profile_memory=True`. */
  recorded: boolean;
  /** With the largest peak first. */
  devices: string[];
  /** Of the whole trace for each device, then of the steps of the chosen one. */
  peaks: MemoryPeak[];
  /** Of the chosen device at the chosen peak; at most 500, largest first. */
  modules: MemoryModule[];
  /** Bytes of all parameters by the recorder's manifest, counted by the allocator or not. */
  parameter_bytes: number | null;
  curve: MemoryCurve | null;
}

/** A step or a span of one phase. */
export interface MemoryBand {
  name: string;
  /** Start, on the trace's own clock. */
  start_us: number;
  /** End, on the trace's own clock. */
  end_us: number;
}

/** Peak memory of one device in the compared steps; of traces that record memory. */
export interface MemoryChange {
  /** The device as `torch.device` spells it. */
  id: string;
  status: "appeared" | "changed" | "moved" | "same" | "unknown" | "unlisted" | "vanished";
  /** Most bytes that were allocated at a time. */
  allocated_bytes: Pair;
  /** Most bytes that the allocator held at the peak of a step. */
  reserved_bytes: Pair;
}

/** Levels of one device in a window of time, as columns of equal length. */
export interface MemoryCurve {
  device: string;
  /** Start of the window. */
  start_us: number;
  /** End of the window. */
  end_us: number;
  /** Times of the points, on the trace's own clock. */
  time_us: number[];
  /** `Total Allocated` from each point on. */
  allocated_bytes: number[];
  /** `Total Reserved` from each point on; null where the allocator holds nothing back. */
  reserved_bytes: number[] | null;
  /** Live bytes of each class from each point on; they sum to `allocated_bytes`. Classes without any are left out, all of them where the trace has no addresses. */
  classes: Record<string, number[]>;
  /** Whether each event is a point. Else the window is in equal parts, with the highest and lowest level of each. */
  exact: boolean;
  steps: MemoryBand[];
  /** Longest 500 of the window, in order of time. */
  phases: MemoryBand[];
}

/** Memory of a module on a device, without that of its child modules. */
export interface MemoryModule {
  id: string;
  device: string;
  /** Null for what is not in a module. */
  module: string | null;
  module_id: number | null;
  /** Live at the peak of the selected steps, allocated in this module. */
  peak_bytes: number;
  /** They sum to `peak_bytes`. */
  classes: Record<string, number>;
  /** Bytes of all blocks allocated in the selected steps, freed or not. */
  allocated_bytes: number;
  /** Blocks allocated in the selected steps. */
  allocations: number;
  /** Those of them that were saved for the backward pass. */
  activations: number;
  /** Their bytes. */
  activation_bytes: number;
  /** Mean time from allocation to free, of those freed in the recording; null without one. */
  activation_lifetime_us: number | null;
  /** The longest of these times. */
  activation_longest_us: number | null;
  /** Most bytes that checkpointing the module would free at the peak: activations live then that were allocated in it or below, and freed by its nodes or by those below. An upper bound, since its own backward needs them all again: the peak may move there. Null without a module. */
  checkpoint_bytes: number | null;
}

/** Memory that operators of a name allocated and freed on a device. */
export interface MemoryOperator {
  id: string;
  device: string;
  operator: string;
  /** Rows of that name in the trace. */
  calls: number;
  /** Allocated minus freed, operators inside included, each once; below 0 where more was freed. */
  increase_bytes: number;
  /** The same without the operators inside. */
  self_increase_bytes: number;
  /** Allocated, operators inside included. */
  allocated_bytes: number;
  /** Allocated by the operator itself. */
  self_allocated_bytes: number;
  /** Blocks allocated, operators inside included. */
  allocations: number;
  /** Blocks that the operator itself allocated. */
  self_allocations: number;
}

/** The most bytes that were allocated on a device, in the whole trace or in one step. */
export interface MemoryPeak {
  id: string;
  /** As `torch.device` spells it: `cpu`, `cuda:0`. */
  device: string;
  /** Null for the peak of the whole trace. */
  step: string | null;
  step_id: number | null;
  /** The first moment at which it was reached, on the trace's own clock. */
  time_us: number;
  /** `Total Allocated` of the allocator, and memory that it does not count: batches that a loader's workers share. */
  allocated_bytes: number;
  /** `Total Reserved` at that moment: bytes that the allocator holds, in use or not. Null on the CPU, where none are held back. */
  reserved_bytes: number | null;
  /** They sum to `allocated_bytes`. Null where the trace has no addresses. */
  classes: Record<string, number> | null;
  /** Phase of the host row around the last allocation up to then; null without one. */
  phase: string | null;
  /** Innermost operator around it. */
  operator: string | null;
  /** Module whose row that is. */
  module: string | null;
  module_id: number | null;
  /** That row. */
  event_id: number | null;
}

/** The phases of all steps, merged to 1500 pixels; equally long lists. */
export interface Minimap {
  /** Start of each. */
  start: number[];
  /** Length of each. */
  duration: number[];
  /** Rows of the timeline's colours. */
  colour: number[];
}

/** One module instance. */
export interface Module {
  id: number;
  /** Qualified name as `named_modules()` gives it below the wrapped root, `""` for the root; without names in the trace, the stack's or annotation's own label. */
  path: string;
  class: string;
  /** Path of the module above; null for a root. By qualified names where the trace has them, else the innermost module around all calls: one that several call is below none of them. */
  parent: string | null;
  parent_id: number | null;
  /** Modules above it; 0 for a root. */
  depth: number;
  /** Calls of the module outside the backward pass; of a module inside a compiled region, calls of placed forward graphs that hold it. Where these are not seen, 0 (see `forward`). */
  calls: number;
  /** All null where the module's calls are not seen: it was not called, and runs in compiled code that no map places, or the recorder was not to mark it (`include`, `exclude`, `depth`), or gradients of its parameters are marked, as where `forward` is called directly or another module uses them, or none of its root's modules was called though gradients of these are marked (or none of any root); the same holds for a module without calls above such a one. What it did is in the times of the module around its calls, or of none. */
  forward: Work;
  /** Where the module's calls are not seen, only a part: gradients that are marked, and modules below whose calls are seen; null where there is none. */
  backward: Work;
  /** The part of `backward` that is forward work done again within a node (activation checkpointing): calls of modules inside a node and the device work they launched; in no module's call, forward operators inside a node, which are charged to the node's module. Forward operators are known by their sequence numbers; where nodes made inside a node are evaluated outside it (a backward that is differentiated itself), numbers say nothing. Null where the module and those below it recomputed nothing. */
  recompute: Work | null;
  sync: ModuleSync;
  /** `backward.compute_us` divided by `forward.compute_us`; host times where the trace has no device; null where the forward took none. */
  backward_ratio: number | null;
  /** Mean of the kernels' `est. achieved occupancy %` (the profiler's estimate from the launch's shape), weighted by duration, over the module and those below, both directions; null where it is not in the trace (AMD, torch's second exporter). */
  occupancy_pct: number | null;
  /** The part of its host times, and of those of modules below it, that the host spent loading the code of kernels on their first use, as in the idle time of that cause: charged once, to whichever module came first. Null without launches, and where `sync.count` is null for want of operators. */
  kernel_loading_us: number | null;
  /** `Input Dims` of the first operator that has any in each call of the module, the three most frequent; recomputed calls do not count. Empty where the trace was recorded without `record_shapes`. */
  shapes: InputShapes[];
  /** Whether the module runs inside a compiled region (`torch.compile`), if it ran: it was not called on its own, and the recorder says so, or a region ran in the nearest module above it that was called. Where our recorder's map places the region's graphs, its calls and times are known. Elsewhere its calls are not seen. */
  compiled: boolean;
  /** Compiled code in the module's self time, not broken down by module: the trace holds no map of our recorder's, or one that does not fit. Null where there is none. */
  compiled_lump: CompiledLump | null;
  /** File and line where the module's class is defined, as our recorder wrote it down; without that, where the function `forward` is that ran in the module's first call and in no module further in, as Python stacks show it; null where there is neither. */
  source: string | null;
  /** Why its calls and its work are unknown; null where they are known. */
  unseen: string | null;
}

/** One module, its own work without that of the modules below it. A module is found again by path and class; a stack's label (`Linear_3`), whose numbers are counted again in every process, by class and order; else by the longest end of its path that names one module of its class on each side, without parts such as `module` and `_orig_mod`, which a wrapper puts in. */
export interface ModuleChange {
  id: string;
  base_id: number | null;
  other_id: number | null;
  /** On the other side where it is there, else on the base's. */
  path: string;
  class: string;
  status: "appeared" | "changed" | "moved" | "same" | "unknown" | "unlisted" | "vanished";
  /** Self time of the forward, by `measure`: as `forward.self_compute_us`, or `self_host_us`. */
  forward_us: Pair;
  /** Self time of the backward, by `measure`, as that of the forward. */
  backward_us: Pair;
  /** In the module and those below it. */
  syncs: Pair;
  /** In the module and those below it. */
  sync_blocked_us: Pair;
  /** Idle time of the devices because of these syncs; see `modules[].sync.device_idle_us`. */
  sync_idle_us: Pair;
  base_path: string | null;
  other_path: string | null;
}

/** One module of a trace, over the selected steps. */
export interface ModuleDetail {
  path: string;
  /** Most expensive first, forward and backward together. */
  kernels: KernelUse[];
  /** Null where the list is complete. */
  kernels_omitted: KernelUseOmitted | null;
  /** Most expensive first. */
  nodes: NodeUse[];
  /** Null where the list is complete. */
  nodes_omitted: NodeUseOmitted | null;
  /** Null where the recorder left none. */
  parameters: Parameters | null;
  calls: CallsOverTime;
  /** Backward time of the module alone by evidence, in the `measure` of `coverage`. */
  backward_by_evidence: Record<string, number>;
  /** Forward time of the module alone that compiled graphs ran, by evidence; device time, on a trace without any that of the host. The rest of its forward is measured at its calls. */
  forward_by_evidence: Record<string, number>;
}

/** Syncs inside a module or the modules below it, without the profiler's own. */
export interface ModuleSync {
  /** Syncs. Null as `totals.sync_count`, and where no operators, annotations or calls of modules were recorded. */
  count: number | null;
  /** Sum of their durations. */
  blocked_us: number | null;
  /** Device idle time that they caused. */
  device_idle_us: number | null;
}

/** All autograd nodes of one name. */
export interface Node {
  id: number;
  name: string;
  /** Evaluations. */
  count: number;
  /** Time of the evaluations, without those nested in them. */
  host_us: number;
  /** Device work launched inside them. */
  device_us: number | null;
}

/** Autograd nodes of one name: including children, and of the module alone. */
export interface NodeUse {
  /** Row of the report's nodes. */
  id: number;
  name: string;
  /** Evaluations. */
  count: number;
  /** Time of these, each less those nested in it. */
  host_us: number;
  /** The module's own work that was launched inside; work that recomputes the module in a node of another module is here, that node is not. */
  device_us: number | null;
  /** Evaluations that belong to the module itself. */
  self_count: number;
  /** The same of these. */
  self_host_us: number;
  /** Device work of the module itself launched inside. */
  self_device_us: number | null;
}

/** Sum of the rows left out of the list of nodes. */
export interface NodeUseOmitted {
  /** Names of nodes. */
  names: number;
  /** Evaluations. */
  count: number;
  /** Time of these, each less those nested in it. */
  host_us: number;
  /** Device work of the module launched inside. */
  device_us: number | null;
  /** Evaluations that belong to the module itself. */
  self_count: number;
  /** The same of these. */
  self_host_us: number;
  /** Device work of the module itself launched inside. */
  self_device_us: number | null;
}

/** All calls of operators or annotations of one name, counted as `key_averages()` does. */
export interface Operator {
  id: number;
  name: string;
  /** Rows of that name. A row whose only row inside has its own name is one call with it. */
  calls: number;
  /** Sum of their durations, over threads: calls that run at once may add up to more than the clock shows. A call inside another one of the same row adds nothing to this and the other totals, where `key_averages()` counts it for each level. */
  host_us: number;
  /** Less the operators, annotations and calls of the device's runtime inside. Marks and Python frames inside are not subtracted. */
  self_host_us: number;
  /** Device work launched inside. Null, as those below, without launches, and where a call launched into the capture of a graph: that work runs where graphs are replayed. */
  device_us: number | null;
  /** The part of it that no operator or annotation further in launched. */
  self_device_us: number | null;
  /** Whether tensor cores could serve it: it is in the list of `kinds.py`, it launched a kernel on them, or an operator inside is eligible. */
  tensor_core_eligible: boolean;
  /** The part of `device_us` on tensor cores, by the kernels' names. */
  tensor_core_us: number | null;
  /** The part of `self_device_us` on tensor cores. */
  self_tensor_core_us: number | null;
  /** FLOPs by the shapes of the inputs, of the calls with a formula (matrix products, convolutions, attention), or of such calls inside; each once. Calls do not count of whose device events, or their launches, the trace lacks some. Null where no shapes are in the trace, or no formula fits. */
  flops: number | null;
  /** Device time of these calls; in a trace of a CPU their host time. Null where a device ran them that was not recorded. */
  flops_us: number | null;
  /** FLOPs over the time of these calls, `flops_us`. */
  tflop_per_s: number | null;
  /** Time that these FLOPs take at the peak of the device for their types, over `flops_us`. Null where the peak is not in `peaks.json`. */
  peak_share: number | null;
  /** FLOPs over the bytes of inputs and results, each counted once: the most the intensity can be, as kernels may move them again. */
  flop_per_byte: number | null;
}

/** An allocation that failed: `[OutOfMemory]` in the trace. */
export interface OutOfMemory {
  id: number;
  device: string;
  /** When it failed, on the trace's own clock. */
  time_us: number;
  /** Bytes asked for. */
  requested_bytes: number | null;
  /** Bytes in use on the device at that moment. */
  allocated_bytes: number | null;
  /** Bytes that the allocator held. */
  reserved_bytes: number | null;
  operator: string | null;
  module: string | null;
  module_id: number | null;
}

/** One number on both sides; null where a side does not have it. */
export interface Pair {
  base: number | null;
  other: number | null;
  /** `other` less `base`; what is on one side alone costs nothing on the other. */
  change: number | null;
}

/** A module's parameters as the recorder saw them, each counted where it is held first. */
export interface Parameters {
  /** Elements of the parameters of the module and those below. */
  count: number;
  /** Memory that they take. */
  bytes: number;
  /** Elements of the module's own. */
  self_count: number;
  /** Memory that these take. */
  self_bytes: number;
  /** Whether a parameter of the module itself requires a gradient. */
  trainable: boolean;
  shared: SharedParameter[];
}

/** A kind of device events, and how much of it is on the critical path of a step. */
export interface PathKind {
  kind: string;
  /** Time of its device events in the replay. */
  device_us: number;
  /** Time of these on the critical path. */
  path_us: number;
  /** Time per step by which they may take longer, wherever, with the step as long: the least slack of any of them in all steps, divided by their number. Null where nothing that is measured waits for them. */
  slack_us: number | null;
}

/** A module on the critical path of a step, and off it. Child modules are counted separately. */
export interface PathModule {
  /** Path of the module; null for what is not in a module. */
  module: string | null;
  module_id: number | null;
  /** Its time on the critical path; of all modules, and the rest, that adds up to the step. */
  path: PathTime;
  /** Time per step by which it may take longer, wherever in it, with the step as long: the least slack of its device events and its host time in all steps, divided by their number. Null where nothing that is measured waits for it. */
  slack_us: number | null;
}

/** Time of the critical path by what passed it, a step; the fields add up to the step. The critical path is the chain of dependencies that decided how long the steps took: each piece of it began because the one before had ended. */
export interface PathTime {
  /** A host thread ran: Python, operators, calls that launch. */
  host: number;
  /** A device event ran that is not a collective's. */
  device: number;
  /** A collective ran on a device, or other ranks had not come to one: before it began there, or while a host thread waited for one that the host runs (gloo). */
  communication: number;
  /** Latencies: from launch to start, between device events, from stream to stream, and from the end of a device event to the return of the sync that waited for it. */
  wait: number;
  /** The host was in a data loader. */
  data: number;
  /** Delays that no dependency in the trace explains; they are kept as recorded. */
  unexplained: number;
}

/** Time of the critical path of a step by what ran, with nothing changed. */
export interface PathWork {
  id: string;
  /** What passed the time, as the fields of `PathTime`. */
  part: string;
  /** Phase of the host, or of the launch of a device event; null in none. */
  phase: string | null;
  /** Kind of the device events; "kernel loading", in whatever phase, as it happens once, and "profiler" while it makes room for what it records ("Activity Buffer Request") or is slow to launch the first kernel (see `Step.idle`); of the host outside of phases the innermost operator, annotation, module or Python function that holds four fifths of the time, and within a phase the same where the thread runs no operator for a millisecond or more, from 5% of the host's time on. Null where nothing has a name, and for what is too short to be listed. */
  name: string | null;
  /** Mean over the measured steps; all rows add up to the step. */
  us: number;
}

/** Means over the measured steps: those that summaries, pages and comparisons show. They count the selected steps. Of a whole trace they count all but the first, which warms up, those in which nothing was launched, a last one without a backward pass, which all others have, as where an exception ends the recording, and those at the end whose device work the trace lacks; all, where that leaves none. Device events are in the step that launched them; those launched before the trace began are in none. Work between steps is left out. */
export interface PerStep {
  /** Steps that the means are over. */
  steps: number;
  /** Steps of the trace. */
  of: number;
  /** Whether the trace shows steps, by `ProfilerStep#N`, rows of `Optimizer.step`, equal annotations in which all operators of a thread lie, or repetition of its operators; else its one step is the whole trace. */
  marked: boolean;
  /** Whether the steps were named. */
  chosen: boolean;
  /** Which steps the means are over, why others are left out, and how many of them have no backward pass or optimizer step, which others have. */
  text: string;
  /** Length of a step on the host; null, as all others, without steps. */
  duration_us: number | null;
  /** Host time, as `steps[].forward_us`; the phases that are known sum to `duration_us`. */
  forward_us: number | null;
  /** Host time, as `steps[].backward_us`. */
  backward_us: number | null;
  /** Host time, as `steps[].optimizer_us`. */
  optimizer_us: number | null;
  /** Host time, as `steps[].data_us`. */
  data_us: number | null;
  /** Host time, as `steps[].other_us`. */
  other_us: number | null;
  /** Time in which a device did any work, summed over the devices. */
  device_busy_us: number | null;
  /** Time in which it did none, summed over the devices. */
  device_idle_us: number | null;
  /** `device_idle_us` by its cause. */
  idle: Idle | null;
  /** Sum of the durations of device events; see `steps[].device_us`. */
  device_us: number | null;
  /** The part of it launched in the backward phase. */
  backward_device_us: number | null;
  /** The part of it launched in the forward phase. */
  forward_device_us: number | null;
  /** The part of it launched in the optimizer phase. */
  optimizer_device_us: number | null;
  /** The part of it that is communication, whether or not computation overlaps it. */
  communication_device_us: number | null;
  /** All of it by kind; kinds without any are left out. */
  device_us_by_kind: Record<string, number>;
  /** Syncs, without the profiler's own. Null as `totals.sync_count`. */
  sync_count: number | null;
  /** Sum of their durations. */
  sync_blocked_us: number | null;
  /** Host time, as `steps[].communication_wait_us`. */
  communication_wait_us: number | null;
  /** Device time, as `totals.unplaced_graph_us`. */
  unplaced_graph_us: number | null;
}

/** Ranks that pass microbatches on as messages: the stages of one pipeline. */
export interface Pipeline {
  id: number;
  /** Ascending; one stage each, or several where stages are interleaved. */
  ranks: number[];
  /** Forwards of a rank per step, by the ranges of its schedule (`Forward 3`, `PP:0F3`, `forward-compute`), else by its messages in a chain of ranks: a message each way for each microbatch. With v stages per rank v for each microbatch. Null for unknown. */
  microbatches: number | null;
  /** Time per step in which a rank does nothing but wait in messages, over the step; mean of the ranks. */
  bubble: number;
  /** (p - 1) / (m + p - 1) of p ranks and m `microbatches`: what even stages leave idle in GPipe's schedule and 1F1B, in a step of nothing else. Null where m is unknown. */
  ideal_bubble: number | null;
  /** `bubble` of each rank. */
  bubbles: number[];
  /** As in `ranks`, of each rank: stages are even where these are. */
  compute_us: (number | null)[];
}

/** Time of the calls of compiled graphs in one direction, and the part that modules have. */
export interface PlacedTime {
  /** Host time of the calls. */
  host_us: number;
  /** The part of it that our recorder's map places on modules. */
  placed_host_us: number;
  /** The part of `placed_host_us` of modules without modules below them. */
  leaf_host_us: number;
  /** The part of `placed_host_us` that was split among several modules, by the bytes that the part of each one reads and writes. */
  split_host_us: number;
  /** The part of `placed_host_us` whose module the compiler lost, and neighbours in the graph named. */
  near_host_us: number;
  /** Device work launched in the calls, recomputation left out. */
  device_us: number | null;
  /** The part of it that the map places on modules. */
  placed_device_us: number | null;
}

/** One rank of a run; times are means over its measured steps. */
export interface Rank {
  id: number;
  rank: number;
  path: string;
  /** First moment of its trace, on its own clock: its timeline counts from there. */
  start_us: number;
  /** Measured steps. */
  steps: number;
  /** A step by the slower of host and device, as `verdict.step_us` of the rank's own report; on the host's clock where that is null, on the device's where it is far behind, as `duration_us` of `rank_steps`. Null without a measured step, as what follows. */
  step_us: number | null;
  /** Something ran that is no collective: on a device (copies and sets too, which the compute time of `devices` leaves out) or, without one, an operator or a compiled graph. Null where only other ranks' traces show device events. */
  compute_us: number | null;
  /** A collective ran, waiting for other ranks included. Null, as the next, where the trace of one of several ranks shows no collective at all. */
  communication_us: number | null;
  /** The part of it in which nothing computed. */
  exposed_communication_us: number | null;
  /** Nothing computed and no collective ran. Null where only other ranks' traces show any collective. */
  idle_us: number | null;
  /** Waiting for other ranks in matched collectives: durations beyond the shortest of the ranks. Time in which its kernel ran on after the last rank had come and the others had left is no wait, if the clocks agree within 1 ms and it is over 0.1 ms and over ten times their spread. Time in which it waited in several at once counts once; a delay for which it waits in one after the other counts in each, unlike in `wait_caused_us` of a straggler. Of messages that name no ranks (gloo's): what they took beyond the least of all ranks in the step. Null where nothing is matched; a step none of whose collectives is matched is not in the mean. */
  wait_us: number | null;
  /** By how much its clock is ahead of the first rank's: median difference of the ends of the collectives that both took part in. Null where no chain of collectives leads from one to the other. */
  clock_offset_us: number | null;
  /** How far that is known: half of the narrowest range of four fifths of these differences, the largest on the way from the first rank. */
  clock_spread_us: number | null;
}

/** What one rank ran around a collective, in the window of `CollectiveRanks`. */
export interface RankActivity {
  rank: number;
  /** Of the host and, where the trace has a device, of its devices. */
  lanes: ActivityLane[];
}

/** A process group whose description names a dimension of the run. */
export interface RankGroup {
  id: number;
  /** As the program described it, such as `mesh_tp`. */
  name: string;
  /** pipeline, tensor, data, context or expert. */
  dimension: string;
  /** Its ranks in this run, ascending. */
  ranks: number[];
}

/** One rank in a collective. */
export interface RankPart {
  rank: number;
  /** When it came, on the clock of its own trace. */
  own_start_us: number;
  /** When it came, on the clock of the run's first rank, since the start of what is shown. */
  start_us: number;
  /** How long it waited for the straggler, as in `ranks`; the transfer follows. */
  wait_us: number;
  /** Whether it came last. */
  late: boolean;
}

/** One step of one rank. */
export interface RankStep {
  id: number;
  rank_id: number;
  name: string;
  /** On the clock of the rank's own trace. */
  start_us: number;
  /** From the start of a measured step on the host to that of the next one. Where the device takes longer for the measured steps than the host, or is behind it by over a fifth of a mean step at the ends of all, each lasts from the end of its work for the step before to the end of that for this one. */
  duration_us: number;
  /** As in `ranks`. */
  compute_us: number | null;
  /** As in `ranks`. */
  communication_us: number | null;
  /** As in `ranks`. */
  exposed_communication_us: number | null;
  /** As in `ranks`. */
  idle_us: number | null;
  /** As in `ranks`, of collectives that the step launched, though they begin after it; of those that began in it where launches are unknown, or hosts run them. Null where it has some and none of them is matched. */
  wait_us: number | null;
  /** Whether it is one of the measured steps that means of the rank are over. */
  counts: boolean;
}

/** Progress of the reading of a trace, or of those of a run; null where unknown. */
export interface ReadingProgress {
  /** "waiting", "downloading", "decoding", "columns", "attribution", "done"; of a run "ranks". */
  stage: string;
  /** Of the stage. */
  done: number | null;
  /** Bytes of the file that were read, as it lies on the disk. */
  bytes: number | null;
  /** Events that were read. */
  events: number | null;
}

/** Marks of the recorder in the selected steps, and their cost. */
export interface Recorder {
  /** Version of the marks' format; the latest of those in the trace. */
  version: number | null;
  /** The `markers` options that modules were wrapped with, from the manifest; empty without one. */
  markers: string[];
  marks: Marks;
  /** An estimate: for each kind, the marks counted times the host time that one of them cost, which the recorder measured during the recording and left in the manifest (`cost_us`, a median). Null where the manifest has none for a kind that is there. */
  own_host_us: number | null;
  /** `own_host_us` divided by the summed `duration_us` of the selected steps. Marks on threads that ran at the same time are all counted, though not each of them makes a step longer. The profiler's own cost is not in it. */
  own_share: number | null;
}

/** How much longer a step was for being recorded. Our `profile` times steps by the host's clock, each from the return of one call of its `step` to the next call. Medians (the lower of an even number), so that one evaluation between two steps does not count. On a device that works asynchronously the time of one step is the time to queue it; over consecutive steps the host runs at the device's pace. Left out are the first of each sequence of steps that are not recorded (the training's own warmup, or a queue that the profiler has just emptied), and steps in which the profiler warms up. At most the latest 100 steps of each kind count. A step that is recorded is longer because of time on the host: host times, idle times of the devices and the length of steps are overstated by it, durations of device events hardly. */
export interface Recording {
  /** Median of the steps that were not recorded and ended before this file was written; null without one, as where the schedule's `wait` is below 2. */
  unrecorded_step_us: number | null;
  /** Median of the steps that were recorded into this file; null without one. */
  recorded_step_us: number | null;
  /** `recorded_step_us` divided by `unrecorded_step_us`; null where one of them is, and where `unrecorded_steps` is below 2: a single step may be one that warms up or compiles. */
  slowdown: number | null;
  /** Steps of which `unrecorded_step_us` is the median. */
  unrecorded_steps: number;
  /** Steps of which `recorded_step_us` is the median. */
  recorded_steps: number;
}

/** The whole report. What is not called a mean is a sum over the selected steps; of a whole trace, over all of it. */
export interface ReportData {
  /** Version of the report's form; one version only gains fields. */
  schema: number;
  trace: TraceInfo;
  totals: Totals;
  steps: Step[];
  /** Parents before children, each root's tree in `named_modules()` order. */
  modules: Module[];
  nodes: Node[];
  syncs: Sync[];
  /** By name, most expensive first. */
  allocations: Allocation[];
  coverage: Coverage;
  findings: Finding[];
  per_step: PerStep;
  verdict: Verdict;
  /** The critical path of the measured steps by what ran, the longest first; empty where the steps are not replayed, or the device ran earlier work for long. At most 30 rows by name; the others are summed up by part and phase. */
  critical_path_work: PathWork[];
  /** Null where the trace holds no marks of our recorder. */
  recorder: Recorder | null;
  /** Device work by name and kind, most expensive first; copies and sets are rows too. At most 500 rows. */
  kernels: Kernel[];
  /** Sum of the rows that `kernels` leaves out; null where the table is complete. */
  kernels_omitted: KernelsOmitted | null;
  /** `cpu_op` and `user_annotation` rows by name, most expensive first. Steps and our recorder's marks are left out. At most 1000 rows. */
  operators: Operator[];
  /** Steps in order. Steps at the end whose device work the trace does not hold, or less than 80% as many device events as of the step before, are left out; all, where a device ran and was not recorded. */
  breakdown: Breakdown[];
  devices: DeviceUse[];
  /** By device, busiest first. */
  streams: Stream[];
  /** Threads of the host on which operators, annotations or calls of the device's runtime began, busiest first; what runs on no thread of the forward or the backward (the collectives' and loaders' own) is here too. Rows among a device's streams that mirror calls are not threads. */
  threads: Thread[];
  /** Of each device that of the whole trace, then those of the selected steps. Empty where the trace was recorded without `profile_memory`, or by torch 1.9 and before, which wrote no totals. */
  memory_peaks: MemoryPeak[];
  /** By device, most bytes at the peak of the selected steps first. */
  memory_modules: MemoryModule[];
  /** By device, most bytes allocated by the operator itself first. At most 1000 rows. */
  memory_operators: MemoryOperator[];
  /** Allocations that failed, in order of time. */
  out_of_memory: OutOfMemory[];
  /** Null where no compiled graph was called, or the trace has no map of our recorder's. */
  compiled: CompiledGraphs | null;
  /** Most expensive first; at most 500 rows. */
  compiled_regions: CompiledRegion[];
  /** What to do where the trace has no device events: record them, or what to change on the CPU; null with device events, and where nothing can be said. */
  device_advice: string | null;
}

/** Some rows of a table of the report, in its form, where the report leaves some out. */
export interface ReportRows {
  table: string;
  /** Rows before these. */
  offset: number;
  /** Rows of the table. */
  total: number;
  /** As many as a megabyte holds. */
  rows: unknown[];
}

/** A rule, without a trace. */
export interface RuleInfo {
  id: string;
  family:
    | "compile"
    | "data-loading"
    | "data-movement"
    | "distributed"
    | "host"
    | "kernels"
    | "memory"
    | "optimizer"
    | "precision"
    | "sync";
  /** The problem, as a phrase that stands by itself. */
  title: string;
  /** Whether a trace can show it; if not, it appears as advice under other findings. */
  visible: boolean;
  /** Condition on a trace under which it holds, in words. */
  matches: string;
  /** The fix, in whole sentences. */
  fix: string;
  reference: string;
  confidence: "high" | "low" | "medium";
  /** Ids of rules that no trace shows and that belong under this one's findings. */
  advice: string[];
}

/** A run: its ranks, the collectives between them, who came late, and why. */
export interface Run {
  schema: number;
  path: string;
  /** As the traces say; null where none does, or they differ. */
  world_size: number | null;
  ranks: Rank[];
  steps: RankStep[];
  collectives: Collective[];
  /** Every one in order, each found with those before it fixed; of too few steps to rule out chance the latest alone. Empty where no rank is late in most steps. */
  stragglers: Straggler[];
  /** Those with collectives in the traces; empty where no description names a dimension. */
  groups: RankGroup[];
  /** Empty where no rank has messages from point to point. */
  pipelines: Pipeline[];
  /** Ranks below the world size that have no trace here. */
  missing_ranks: number[];
  unreadable: UnreadableRank[];
  /** Collectives of single ranks without a counterpart. */
  unmatched: number;
  /** Uncertainty of the ranks' clocks: half of the narrowest range of four fifths of the differences, of the worst rank; null with one rank, or where they share no collective. */
  clock_spread_us: number | null;
  warnings: string[];
  /** By how much the replay of the run as it was differs from its recorded length; null where no straggler's gain was replayed. */
  replay_error: number | null;
  /** A rank that is late in all measured steps, by 3% of a step or more on average, in too few steps to rule out chance: the first of `stragglers`, or where that is late in the only step, as late there as another. Null where there is none, or a straggler beyond chance. */
  suspect: number | null;
  /** How much longer the ranks that share collectives with `suspect` wait than it does, mean per step; one delay counts once, as in its `wait_caused_us`. Null without one. */
  suspect_wait_us: number | null;
  /** Whether a trace marks steps; else each trace is one step, and times per step are of it. */
  marked: boolean;
}

/** A run without its steps and single collectives, which are tables and matrices. */
export interface RunOverview {
  run: string;
  /** What is to be recorded where the run says nothing about ranks; null where it does. */
  nothing: string | null;
  /** As the traces say; null where none does, or they differ. */
  world_size: number | null;
  /** Numbers of the ranks, as all columns of ranks are ordered. */
  ranks: number[];
  /** Worker of each rank, as `api/runs` names it. */
  workers: string[];
  /** First moment of each rank's trace, on its own clock. */
  start_us: number[];
  /** As of `hookview ranks`: whether a trace marks steps. */
  marked: boolean;
  /** Mean duration of a step over the ranks; null without one that counts, as what follows. */
  step_us: number | null;
  /** Mean time per step in which a rank waited for others. */
  wait_us: number | null;
  /** What holds up the run: its first straggler, else how a step is spent. */
  sentence: string;
  /** Mean over the ranks of `compute_us` per step, as what follows. */
  compute_us: number | null;
  /** Communication in which nothing computed. */
  exposed_communication_us: number | null;
  /** Nothing computed and no collective ran. */
  idle_us: number | null;
  /** Names of all steps, in their order. */
  steps: string[];
  /** As of `hookview ranks`: each found with those before it fixed. */
  stragglers: Straggler[];
  /** The first of those of the run. */
  pipelines: Pipeline[];
  /** Edges between which collectives are counted: each the same multiple of the one before. */
  edges_us: number[];
  /** Those that took longest first. */
  kinds: CollectiveKind[];
  /** Most frequent first. */
  sizes: CollectiveSize[];
  /** Sizes after the last one here. */
  sizes_left_out: number;
  balance: Balance[];
  /** Collectives that were matched. */
  collectives: number;
  /** Collectives of single ranks without a counterpart. */
  unmatched: number;
  /** The first of those below the world size that have no trace here. */
  missing_ranks: number[];
  /** All of them. */
  missing: number;
  /** The first of the traces that cannot be read. */
  unreadable: UnreadableRank[];
  /** All of them. */
  unreadable_traces: number;
  /** Uncertainty of the ranks' clocks, as in `hookview ranks`. */
  clock_spread_us: number | null;
  warnings: string[];
}

/** The log directory. */
export interface Runs {
  logdir: string;
  version: string;
  runs: ListedRun[];
  left_out: LeftOut;
  /** Name of the dry run that is served in the place of traces. */
  dry_run: string | null;
}

/** Events with a text in their names. */
export interface SearchResult {
  /** Events found in the window, those beyond `hits` included. */
  total: number;
  /** The first 500 by start. */
  hits: EventSummary[];
  /** Events that begin in each of `width` equal parts of the window; sums to `total`. */
  density: number[];
}

/** A parameter that an earlier module holds too, and that is counted there. */
export interface SharedParameter {
  parameter: string;
  owner: string;
  owner_parameter: string;
}

/** The trace of one side of the comparison. */
export interface Side {
  path: string;
  /** Steps that its means are over; see `per_step`. */
  steps: number;
  step_names: string[];
  /** Steps of the trace. */
  of: number;
  /** `per_step.text`: which steps its means are over, and why others are left out. */
  text: string;
  /** Whether the trace marks steps; else its numbers are of all of it. */
  marked: boolean;
  /** `verdict.bound`. Where it is `unknown` on one side alone, as for a bare recording on a CPU, fewer rules apply to that side: not all findings that appear are new. */
  bound: "communication" | "data" | "device" | "even" | "host" | "unknown" | null;
  /** What makes its figures wrong: the trace's warnings of high severity, in short. */
  warnings: string[];
}

/** The call site of syncs. */
export interface Site {
  module: string | null;
  module_id: number | null;
  node: string | null;
  operator: string | null;
  /** The innermost frame that is not torch's own, `file.py(line): function`. */
  frame: string | null;
}

/** A rank that takes longer than the others for something, over the whole run. */
export interface SlowRank {
  id: number;
  rank: number;
  /** As in `causes`. */
  part: string;
  block: string | null;
  /** By how much more than the median of the other ranks, per step. */
  excess_us: number;
  /** Parts of the run in which it did. */
  windows: number;
  /** Parts of the run that were compared. */
  of_windows: number;
}

/** Steps in a row that were slow, by the slowest rank. Either the length of a step rose by a fifth or more above that of the latest 201 steps on the level before, and stayed so for some 30 steps; or they are above 1.3 times the median of the 101 steps before them that were not slow, and beyond five times their spread (the median deviation times 1.48), with up to five other steps in between. The 101 steps are of the same level. */
export interface SlowSteps {
  id: number;
  first: number;
  last: number;
  /** Whether the length of a step rose and stayed so, until it was back or rose further. */
  lasting: boolean;
  /** Slow steps among them; all, where it lasted. */
  steps: number;
  /** Median duration. */
  step_us: number;
  /** The median that they are compared with. */
  median_us: number;
  /** Time beyond that median, all of them together. */
  excess_us: number;
  /** What took longer, the most expensive first. */
  causes: Cause[];
  /** The recording of the steps, else the nearest one before or after them whose file is there; of the rank that took longest, where that one made it. Null without any. */
  recording_id: number | null;
}

/** A number of the compared steps of one side, one value for each step. */
export interface Spread {
  /** Median over the steps. */
  median_us: number;
  /** The least of a step. */
  min_us: number;
  /** The most of a step. */
  max_us: number;
}

/** How a number varies from step to step on both sides. */
export interface SpreadPair {
  /** Null where a step does not hold the number. */
  base: Spread | null;
  other: Spread | null;
  /** Whether the median of each side lies in the range of the other, so that the difference may be noise. Null where a side has fewer than two steps. */
  within_noise: boolean | null;
}

/** The rows that answer a query. */
export interface SqlAnswer {
  columns: SqlColumn[];
  /** One list of values for each row; a decimal number is a number here. */
  rows: unknown[][];
  /** Rows of the query; null where it has more than were counted. */
  total: number | null;
}

/** A column of an answer. */
export interface SqlColumn {
  name: string;
  /** As Arrow writes it: "string", "int64", "double", ... */
  type: string;
}

/** A table that a query can read. */
export interface SqlTable {
  name: string;
  description: string;
  columns: TableColumn[];
}

/** The tables that a query can read. */
export interface SqlTables {
  /** How to get what answers queries; null where it is installed. */
  missing: string | null;
  tables: SqlTable[];
}

/** Microbatches on which a stage of a pipeline works longer than the other stages do. */
export interface StageWork {
  /** As the schedule numbers it (`PP:2F0`), else the place of its rank in the pipeline; from 0. */
  stage: number;
  /** forward or backward: the pass in which they take longer. */
  direction: string;
  /** Numbers within the step, from 0: those of a quarter of the largest excess or more. */
  microbatches: number[];
  /** All of that pass in a step. */
  of_microbatches: number;
  /** Host time of one of them without waits for messages, the median. */
  time_us: number;
  /** The lower median of what one takes the other stages. */
  usual_us: number;
}

/** One step of the training loop; the host phases that are known sum to its duration. */
export interface Step {
  id: number;
  name: string;
  /** Start of the step, on the trace's own clock. */
  start_us: number;
  /** Length of the host row `ProfilerStep#N`, less `left_out_us`. Without any, an iteration ends with the optimizer's step and the next begins there: with the last, where several follow one backward pass, or where as many gradients are accumulated before every k-th alone, as in a GAN. An iteration that a gradient scaler skips, as its check and gradients zeroed before a step used them show, ends with its backward pass. Without optimizers too, iterations are annotations of one name, each up to the next, in which all operators of a thread lie, or all from the first one on if a backward pass runs in each; else a sequence of operators with a backward pass that a thread repeats from its first operator to its last, without those that read values. The last of these ends with its operators where it has as many as another one and, by the median, less than 5% of an iteration lies between two; else it is no step, as its end is not in the trace. A trace with none of these is one step. */
  duration_us: number;
  /** Time in no other phase but `other` and inside a module's call (annotations do not count), or inside an operator that made an autograd node or holds one that did. Without sequence numbers (torch 1.7): from the first operator with the name of a node to the backward pass, on its thread; a name counts where as many operators as nodes of the pass have it. So is time inside a range by which a pipeline marks a forward (`attn(F)`, `forward-compute`, `Forward 3`, `PP:0F3`), where it marks the backward as well, and inside the ranges of DistributedDataParallel's and FSDP's forward. Null where the trace shows no forward at all, or by names not all of it: that time is in `other_us`. */
  forward_us: number | null;
  /** Time in which any thread evaluated an autograd node (with the sums of gradients that the engine runs between nodes, also where the trace has no `evaluate_function` rows around them), or was in a range by which a pipeline marks a backward (`attn(B)`, `mlp(W)`, `backward-compute`), or in FSDP's after the last node (`FSDP::root_post_backward_callback`). Null, as the next two, where the trace has no operators, annotations or modules that would show a phase. Null too, as `forward_us` and `optimizer_us`, where it would be 0 and a graph that is replayed in the step may hold the phase (`totals.unplaced_graph_us`). */
  backward_us: number | null;
  /** Time in no backward in which parameters were updated: gradient scaling and clipping (our recorder's `call` marks), `step`, `zero_grad` (torch's `Optimizer.*` annotations), fused updates outside of these (`aten::_fused_adamw_`), and a compiled region that holds an update (`aten::_foreach_addcdiv_` too), but no forward, node or replayed graph. To multiply the loss by the scale is part of the forward, whose graph it adds to. Null where gradients are accumulated and the trace has none of these: an update of one's own is in `other_us`. */
  optimizer_us: number | null;
  /** Time in neither of these inside `DataLoader` annotations. */
  data_us: number | null;
  /** The rest of the step. */
  other_us: number;
  /** Length of the union of a device's work, clipped to the step on the host and summed over the devices that did any work. */
  device_busy_us: number | null;
  /** The step's duration times these devices, less `device_busy_us`. */
  device_idle_us: number | null;
  /** Time in which some host thread was in a sync, the profiler's own left out. Null as `totals.sync_count`. */
  sync_blocked_us: number | null;
  /** `device_idle_us` by its cause. */
  idle: Idle | null;
  /** Time in which a launch waited for room in a device's full queue: at least 900 launches of that device had not begun, and the call lasted over 20 times the median of its name, or, with as many ahead as 97% of the most that ever were, over 5 times the median of its name with fewer ahead. The device limits the step then, not the host: it is in no `sync_*`. Null without launches. */
  queue_full_us: number | null;
  /** The part of `device_idle_us` during which some thread evaluated a node: a device may still be busy with the forward then, or go on with the backward later. Null as `backward_us`. */
  backward_idle_us: number | null;
  /** Whether it is one of the steps of `per_step` and of the means in findings: every selected step; of a whole trace all but the first, which warms up, those that launched nothing, a last one without a backward pass, which all others have, and those at the end whose device work the trace lacks, as `breakdown` leaves them out; all, where that leaves none. The one step of a trace of a device alone counts if the device did anything. */
  counts: boolean;
  /** Sum of the durations of the device events that were launched in the step. It may exceed the step: streams run at the same time, and devices run on when the host is done. Null without device events. */
  device_us: number | null;
  /** Device events that began in the step and were launched before the trace began. They are in the step's busy time, but in none of its sums over device events. Null without launches. */
  launched_before_count: number | null;
  /** Sum of their durations. */
  launched_before_us: number | null;
  /** Time in which the training thread waited for a collective that the host runs (gloo, MPI, UCC): from its last row to the collective's end, where it goes on soon after and is in no operator that computes. It is in `backward_us`, `other_us` or another phase already. Waits for collectives of a device are syncs. Null as `data_us`. */
  communication_wait_us: number | null;
  /** Time at the ends of the host row that is the recording's, and in no figure of the step: up to the end of a synchronize that waits for work from before the recording, as a device event without a launch shows, or as it is of the whole device, took most of the row, and ended before the first launch; from the profiler's own as it stops; and, without Python stacks, after the last row of the last step, if nothing is recorded there for ten times as long as at the end of any other step, and 1 ms longer. */
  left_out_us: number;
}

/** Quantities of steps by ranks. */
export interface StepMatrix {
  /** Steps before the first one here. */
  offset: number;
  /** Steps after the last one here. */
  left_out: number;
  steps: string[];
  /** By quantity: for each step one value for each rank, in the order of `ranks` of the run; null where the rank's trace has no such step. */
  values: Record<string, (number | null)[][]>;
}

/** A rank for which the others wait in most steps; the rows before it are taken to be fixed. In few steps that may be chance (`sure`). */
export interface Straggler {
  id: number;
  rank: number;
  /** How much longer the ranks that share collectives with it wait than it does, mean per step. One delay counts once: where no host waits for its device, a straggler is as late at the next collectives too; a rank that comes early, where most of the others come together, waits for none of them. With the stragglers before it fixed, by a replay of all ranks. */
  wait_caused_us: number;
  /** That over the mean of the steps that are compared. */
  share: number;
  /** Steps in which it is late, by the same. */
  steps: number;
  /** Steps that were compared. */
  of_steps: number;
  /** Module on which it spends most of the excess; null where it is no module. */
  module: string | null;
  /** module, data, optimizer, sync, host or device, of most of the excess; null for unknown. */
  reason: string | null;
  /** Time it spends on that beyond the lower median of the others, per step; null for unknown. */
  excess_us: number | null;
  /** All that it spends more time on, the largest first, from 1% of `wait_caused_us` on; none where that is less than a quarter of it. */
  reasons: StragglerReason[];
  /** On which microbatches, of a stage of a pipeline on the CPU; null where none of its passes explains a quarter of what it spends more time on. */
  stage: StageWork | null;
  /** How much shorter a step is without all of that, with the stragglers before it fixed too, by a replay of all ranks: each one's own work takes as long as recorded, less the excess, and every collective ends its transfer after the last rank came. Where messages name no ranks: by how much it is later than the next, as far as the excess explains it. */
  gain_us_per_step: number;
  /** Mean step that is left with it and those before it fixed. */
  left_step_us: number;
  /** The rule that explains most of that: by which findings about that module, or about the reason where that is no module, cost this rank more than the lower median of other ranks, three at most. Of a straggler by its host that is the devices' idle time, of one by its device the work that could be avoided. Null where that is less than a quarter of `wait_caused_us`. */
  finding: string | null;
  /** Whether that is more than chance; else it is late in all of `of_steps`, which are too few to rule chance out. A single step never is enough. */
  sure: boolean;
}

/** What a straggler spends more time on than the others. */
export interface StragglerReason {
  /** module, data, optimizer, sync, host or device. */
  reason: string;
  /** Path of the module; null where it is no module. */
  module: string | null;
  /** forward or backward: in which of the two most of that time is; null where it is no module. */
  phase: string | null;
  /** Time beyond the lower median of the others, per step; between collectives on a device no more than what passed since all had left the last one. Of a device no more than since the step's first collective: what the others ran while they waited in one takes them as long. */
  excess_us: number;
}

/** One stream of a device: events, gaps between them, queue of launched events. A gap is the time from the end of all earlier events to the next start. Another stream may work meanwhile: why the device as a whole idled is in `steps[].idle`. */
export interface Stream {
  id: number;
  device: string;
  device_id: string;
  /** Its name; a lane where torch drew the events of CUDA graphs on lanes (`graph_lanes`), each with the stream that it ran on as its argument `original_stream`. */
  stream: string;
  /** Device events. */
  count: number;
  /** Time in which any work ran. */
  busy_us: number;
  /** Gaps before events launched after the gap began. Null, as all below, without any launch. */
  host_us: number | null;
  /** Gaps shorter than 30 us before events that were launched before the gap began. */
  kernel_us: number | null;
  /** The other gaps: longer ones, and those before events whose launch is not known. */
  other_us: number | null;
  /** Device events launched on the stream that have not begun, mean over time. One more with the start of each launch, one less with each start of work. */
  queue_mean: number | null;
  /** The most of them there were. */
  queue_max: number | null;
}

/** One sync: the host waited for a device. */
export interface Sync {
  id: number;
  /** The call that held the longest part of the wait. */
  event_id: number;
  /** Name of the call that held the longer part. */
  api: string;
  /** Start of the first call. Of a wait whose own call is not in the trace, before `cudaEventElapsedTime`: end of the thread's row before. */
  start_us: number;
  /** To the end of the last call; of a wait whose own call is not in the trace, to the start of `api`; of one that frees memory, to the end of what it waited for. */
  duration_us: number;
  step: string | null;
  step_id: number | null;
  /** "forward", "backward", "optimizer", "data" or "other". */
  phase: string;
  operator: string | null;
  /** Event of the call of the operator. */
  operator_id: number | null;
  node: string | null;
  /** Event of the node's evaluation. */
  node_id: number | null;
  module: string | null;
  module_id: number | null;
  /** Id of the first rule, in their order of priority, that explains the sync; `profiler` for the profiler's own call as it starts or stops. `sync-explicit` is where no operator asked for it, `sync-in-operator` where one did and no other rule fits. */
  cause: string;
  /** Device idle time that the sync caused, summed over the devices. With [s, e] the sync, g1 the device's first work whose launch began at or after e, and g0 the end of the device's work before g1: the time from max(s, g0) to g1, less the launch latency, and no more than the sync was long (without it the host could be no further ahead). In a report of some steps: what of it lies in these. */
  device_idle_us: number | null;
  /** Idle gaps that the sync caused, rows of the table `gaps`; their durations sum to `device_idle_us`. */
  gap_ids: number[];
  /** Python frames around the call, innermost first; in the backward pass those around the forward operator. Empty where the trace holds none. */
  stack: string[];
  thread: string;
  thread_id: number;
  /** Of a copy that waits, or a launch that waits for what it launched: the work before it on its stream, or that copy or work itself, whichever took the longer part. Of any other: the work launched before that ended last before the sync returned. Null where none ended within the sync. */
  waited_for: WaitedFor | null;
  /** The part of `duration_us` until the work that was launched before had ended. Null where no device events were recorded. */
  waited_us: number | null;
  /** The part of the rest in which the sync's own copy ran, also after its call had returned, or what a launch that waits for it launched. What is left is calling, staging, returning: the host's own. Null where no device events were recorded. */
  transfer_us: number | null;
}

/** Syncs of one cause and call site: module, node, operator and frame without its line. */
export interface SyncChange {
  id: string;
  base_id: number | null;
  other_id: number | null;
  cause: string;
  status: "appeared" | "changed" | "moved" | "same" | "unknown" | "unlisted" | "vanished";
  base_site: Site | null;
  other_site: Site | null;
  /** Syncs. */
  count: Pair;
  /** Sum of their durations. */
  blocked_us: Pair;
  /** Device idle time that they caused. */
  device_idle_us: Pair;
}

/** A column of a table. */
export interface TableColumn {
  name: string;
  /** "text", "integer", "number", "boolean" or "json". */
  type: string;
  unit: string | null;
  description: string;
}

/** Some rows of a table. */
export interface TablePage {
  table: string;
  /** Column that names a row, as columns that end in `_id` refer to it. */
  key: string;
  /** Rows that the filters leave. */
  total: number;
  /** Rows of these before the first one here. */
  offset: number;
  /** Rows of these after the last one here. */
  left_out: number;
  columns: TableColumn[];
  /** Values by column; null where the trace does not hold one. */
  rows: Record<string, unknown>[];
}

/** A thread of the host, and what it did. */
export interface Thread {
  id: number;
  /** Its name, or its number where it has none; as `syncs[].thread`. */
  thread: string;
  /** Number of its process. */
  process: string;
  /** Of the whole trace, the first of these that holds: `forward` (steps are marked on it, or forward work ran on it outside of nodes: the loop's own thread), `backward` (it evaluated nodes), `data` (a `DataLoader` annotation, or a thread that torch names as one of its loader's), `other`. */
  role: string;
  /** Time in which any operator, annotation (no step's), call of a module (also by its Python frame) or of the device's runtime was open on it; of a selection of steps, clipped to them. Other Python is not in it: the frame of a thread's loop is open all the time. */
  busy_us: number;
  /** `busy_us` by phase, as in `steps[]` but of this thread alone; sums to it. Time of a phase that is unknown there is in `other`. */
  by_phase: Record<string, number>;
  /** The part of it in which the thread was in a sync, the profiler's own left out. Null as `totals.sync_count`. */
  blocked_us: number | null;
}

/** One lane: events in `depth` rows, or the points of a curve. */
export interface TimelineLane {
  id: string;
  group: string;
  title: string;
  subtitle: string;
  kind:
    | "annotations"
    | "backward"
    | "device"
    | "forward"
    | "host"
    | "idle"
    | "memory"
    | "path"
    | "queue"
    | "steps";
  /** Rows that nest, 1 for none. */
  depth: number;
  /** Events of the lane, or points of its curve; null for a lane that is made only when it is asked for by its id: its window alone shows them. */
  events: number | null;
  /** Name of the thread of the host, as in the report's rows; null where the lane is of none. */
  thread: string | null;
  /** Id of that thread, as in the report's rows. */
  thread_id: number | null;
  /** Id of the device as in the report's rows; null for a lane without. */
  device: string | null;
  /** Stream of the device; null where the lane is of none. */
  stream: string | null;
  /** Id of that stream, as in the report's rows. */
  stream_id: number | null;
  /** Why the lane shows nothing, as a phrase; null where it shows something. */
  note: string | null;
}

/** The lanes of a trace, its bounds and a minimap. */
export interface TimelineOverview {
  /** Start of the trace on its own clock, as in the report. */
  start_us: number;
  /** From the first start to the last end of the trace's events. */
  duration_us: number;
  /** Events of the file, of every phase (`ph`): rows, instants, arrows, names of threads. */
  events: number;
  lanes: TimelineLane[];
  minimap: Minimap;
  /** Meaning of the colours of blocks. */
  colours: string[];
}

/** The blocks of a window. */
export interface TimelineWindow {
  /** Start of the window. */
  start: number;
  /** End of the window. */
  end: number;
  /** Pixels to which blocks are merged; fewer than asked for where the answer would be larger than a megabyte. */
  width: number;
  names: string[];
  lanes: LaneBlocks[];
  curves: LaneCurve[];
}

/** One of the names that took most of a window. */
export interface TopEntry {
  /** Kind of the lanes that show it: device work, operators, modules forward or backward. */
  kind: "backward" | "device" | "forward" | "host";
  /** Whether it is host or device time. */
  measure: "device" | "host";
  name: string;
  /** Device events, calls, or (modules) device events or host rows. */
  count: number;
  /** Sum of their times in the window; of a module, including those below it. */
  total_us: number;
  /** Less what is inside; null for device work. */
  self_us: number | null;
}

/** Sums over all selected steps. */
export interface Totals {
  /** By device: time in which it did any work. */
  device_busy_us: Record<string, number>;
  /** Device time of work launched in the backward phase. Null, as the next two, where the trace has no launches or no operators to know phases by, and where a step replays a graph in no known phase (`unplaced_graph_us`) that may hold the phase: nothing else of it was launched in that step (of a forward, or nothing of a backward). */
  backward_device_us: number | null;
  /** Device time of work launched in the forward phase. Null where the trace does not show which of the work in no other phase is the forward's: no call of a module, no operator that made a node, nor (without sequence numbers) names for half of the nodes of each pass. */
  forward_device_us: number | null;
  /** Device time of work launched in the optimizer phase, zeroing of gradients included. Null too where no optimizer is marked, as `steps[].optimizer_us`. */
  optimizer_device_us: number | null;
  /** Syncs, the profiler's own included; not those left out of the only step of a trace that marks none (`steps[].left_out_us`). Null, as all of syncs, where no call of a device's runtime was recorded, unless the model ran on the CPU. */
  sync_count: number | null;
  /** Sum of their durations. The time that the program was blocked is this less `profiler_sync_us`. */
  sync_blocked_us: number | null;
  /** Syncs in the backward phase. */
  backward_sync_count: number | null;
  /** Calls that make a stream wait for an event (`cudaStreamWaitEvent` and its like): the device waits, the host goes on, and they are in no `sync_*`. Null as `sync_count`. */
  device_wait_count: number | null;
  /** Launches that waited for room in a device's full queue. */
  queue_full_count: number | null;
  /** Sum of their durations. */
  queue_full_us: number | null;
  /** Time of all device work of every phase by kind; kinds without any are left out. */
  device_us_by_kind: Record<string, number>;
  /** The part of it that is communication; null, as the next two, without device work. */
  communication_device_us: number | null;
  /** The part of it that is known to have run on tensor cores. */
  tensor_core_us: number | null;
  /** The part of it that may have run on tensor cores: unknown from names. */
  tensor_core_unknown_us: number | null;
  /** The profiler's own syncs among `sync_count`, as it starts or stops; null where that is. */
  profiler_sync_count: number | null;
  /** Sum of their durations. */
  profiler_sync_us: number | null;
  /** The part of `sync_blocked_us` in which syncs waited for earlier work of the device. Null where no device events were recorded, and as `sync_count`. */
  sync_waited_us: number | null;
  /** The part of it in which their own copies ran, or what launches that wait for it launched. Null as `sync_waited_us`. */
  sync_transfer_us: number | null;
  /** `forward_device_us` without communication. */
  forward_compute_us: number | null;
  /** Device time of replayed graphs (CUDA, HIP) that were launched in no known phase: the trace does not hold the operators and modules that they were captured from. Null without launches. */
  unplaced_graph_us: number | null;
}

/** The file, and what it was recorded on. */
export interface TraceInfo {
  path: string;
  /** Form of the file's root: "chrome-object" or "chrome-list". */
  format: string;
  /** Events of the file, of every phase (`ph`): rows, instants, arrows, names of threads. */
  events: number;
  /** On the trace's own clock. */
  start_us: number;
  /** From the first start to the last end of the events of host and devices. */
  duration_us: number;
  devices: Device[];
  rank: number | null;
  world_size: number | null;
  torch_version: string | null;
  /** The recorder's manifest (version, markers); null where it left none. */
  recorder: Record<string, unknown> | null;
  /** Those of high severity first. */
  warnings: TraceWarning[];
  /** Null where the recorder timed no steps. */
  recording: Recording | null;
}

/** Something that speaks against the trace, or that a reader of the report should know. */
export interface TraceWarning {
  /** The code; `code#2` for the second of a code. */
  id: string;
  code: string;
  message: string;
  /** Number of times it was seen. */
  count: number;
  /** "high" where it makes figures of the report wrong or leaves them out. `docs/explanation/reliability.md` lists the codes. */
  severity: "high" | "low";
}

/** Time of the module that is in no call of its own. */
export interface Unplaced {
  /** Part of `forward.host_us` of the module. */
  forward_host_us: number;
  /** Part of `forward.compute_us` of the module. */
  forward_compute_us: number | null;
  /** Part of `backward.host_us` of the module. */
  backward_host_us: number;
  /** Part of `backward.compute_us` of the module. */
  backward_compute_us: number | null;
  /** Part of `communication_us` of the module, forward and backward together. */
  communication_us: number | null;
}

/** A trace of the run that could not be read. */
export interface UnreadableRank {
  path: string;
  reason: string;
}

/** What decides the length of a step: replays in which one resource alone takes time. A trace that marks no steps is one step. All figures are null where the replay is refused. */
export interface Verdict {
  /** The host and data loading take turns on one thread, as device and communication do where one needs the other. So `host_side_us` is compared with `device_side_us`. Where they are further apart than `margin_us`, and most of the critical path is not of the shorter side, the longer side decides, and of its two resources that without which the step is shortest (the longer one, where the other side is longer than each); data loading or communication where both save about as much, as these can overlap. Elsewhere it is `even`, also where the sides are up to a fifth apart ("nearly") or further, as neither decides alone. `unknown` where the replay is refused, the trace has no device events (unless the recorder or operators that exist for the CPU alone say that the model runs there), or unexplained delays are longer than each side. */
  bound: "communication" | "data" | "device" | "even" | "host" | "unknown";
  /** The same in at most 25 words. */
  sentence: string;
  /** A step as recorded, by the slower of host and device, as `step_us` of a what-if. */
  step_us: number | null;
  /** A step with the host's own work alone: Python, operators, launches; syncs return at once. Where no step is marked, what it did before its first row in the trace is not known, and none of it. */
  host_us: number | null;
  /** A step with the work of the devices alone but collectives; null without device events. */
  device_us: number | null;
  /** A step with collectives alone: their durations, which include waiting for other ranks, and the delays before them. Null without device events or collectives of the host (gloo). */
  communication_us: number | null;
  /** A step with the data loader's time on the host alone. Null as `steps[].data_us`. */
  data_us: number | null;
  /** A step with the host's own work and data loading. */
  host_side_us: number | null;
  /** A step with device and communication; null where both are. */
  device_side_us: number | null;
  /** Difference of the two sides up to which they are even: 5% of the longer, or the part of it by which the replay with nothing changed is off, if that is more. */
  margin_us: number | null;
  /** Time of the host in the measured steps for what happens once: loading the code of kernels, or the first launch after the profiler started (see `idle.profiler`), and, in a trace without marked steps, the first and the last call of a loader with workers, if they hold nine tenths of the time in it and the others take under 5% of the rest of the trace. It is part of `step_us`, and of none of the lengths above. Null where they are. */
  once_us: number | null;
  /** A step in the replay of which `findings[].unrecorded_gain_us_per_step` is a part: without what happens once and, where that is known, without what recording cost the host. Null where none of both is known to have taken time. */
  later_step_us: number | null;
  /** A step in a replay without what recording cost the host: an estimate by the number of operators, their inputs (`record_shapes`), allocations (`profile_memory`), Python calls (`with_stack`) and calls of the device's runtime, at what each took with torch 2.13, scaled by how long the trace's cheapest operators took (the median of `aten::as_strided` and `detach`, of 16 or more), and by the time that the recorder measured for its marks. A Python call costs at most four times the median from one of their starts or ends to the next. Where the recorder timed two steps or more without recording (`trace.recording`), that cost is scaled so that the step is no shorter than the shortest of them and, on a CPU, no longer than the longest; to at most three times, and none of it passes later than 20 us after a row began and its cost was over: in a sleep, a wait or a long operator nothing is recorded. So the step is longer than the longest where these did less, or waited less. Null where that is unknown: without operators of torch, or with times in whole microseconds, as earlier profilers wrote them. */
  unrecorded_step_us: number | null;
  /** `bound` without that cost; null where the step is. Unknown where it would be communication, and `bound` is not: collectives are as recorded, with their waits for other ranks. */
  unrecorded_bound: "communication" | "data" | "device" | "even" | "host" | "unknown" | null;
  /** What is different without that cost, where `bound` is or the step is 5% shorter. */
  unrecorded_sentence: string | null;
}

/** The device event that took the longer part of a sync. */
export interface WaitedFor {
  event_id: number;
  name: string;
  device: string;
  device_id: string;
  stream: string;
  stream_id: number;
  /** Duration of the device event. */
  duration_us: number;
}

/** One rank of a watched training run; durations are medians over its measured steps. */
export interface WatchedRank {
  id: number;
  rank: number;
  /** First part of its files' names. */
  worker: string;
  /** Rows of its files. */
  steps: number;
  /** Steps that medians are over: without recorded ones, their warm-up, the step after them, and the first five. */
  measured_steps: number;
  /** Steps in which forward, backward and optimizer were timed: some of those below 10 ms. */
  phase_steps: number;
  /** Steps in which the blocks were timed: some of short ones, as it takes time. */
  block_steps: number;
  /** Lines that are no rows: of a write that broke off. */
  lost_lines: number;
  /** Numbers between its first and its last step without a row. */
  missing_steps: number;
  /** Blocks of the model, in forward order. */
  blocks: string[];
  /** Duration of a step; null without a measured step, as what follows. */
  step_us: number | null;
  /** Waiting for a `DataLoader`; null where none was used, as with what follows. */
  data_us: number | null;
  /** In the model's own call. */
  forward_us: number | null;
  /** From the beginning of the backward pass to the last gradient of a block. */
  backward_us: number | null;
  /** From there to the end of the pass: waiting for the gradients' reduction. */
  after_backward_us: number | null;
  /** In optimizers' `step`. */
  optimizer_us: number | null;
  /** In garbage collections, mean per step. */
  gc_us: number | null;
  /** Most memory of its device, or of the process where it has none. */
  memory_bytes: number | null;
}

/** One recording of one rank. */
export interface WatchedRecording {
  id: number;
  rank: number;
  /** Name of the trace file. */
  file: string;
  worker: string;
  /** Whether the file is still there. */
  kept: boolean;
  /** First step that is recorded. */
  start: number;
  /** Steps that are recorded. */
  steps: number;
  /** What asked for it: start, slow, every, signal, file or call. */
  reason: string;
  /** Rank that asked. */
  asked_by: number | null;
  /** How slow the steps were that asked, over the running median; 0 where another reason did. */
  ratio: number;
}

/** A replay with something changed. Figures are means over the measured steps. */
export interface WhatIf {
  /** A step as recorded, by the slower of host and device: from the end of the device's earlier work to the end of the last step's, or from the first step's start to the last one's end on the host, divided by the number of steps. Null where the replay is refused, as all that follows. */
  step_us: number | null;
  /** The same in a replay with nothing changed; its distance from `step_us` is the error. */
  replayed_us: number | null;
  /** The same with the change. */
  predicted_us: number | null;
  /** `replayed_us` without what recording cost the host, an estimate; null where that is unknown, as `unrecorded_step_us` of a verdict, and the next. */
  unrecorded_us: number | null;
  /** `predicted_us` without that cost. */
  unrecorded_predicted_us: number | null;
  /** Lower bound of `predicted_us`: without unexplained delays, less the error of the replay. */
  low_us: number | null;
  /** Upper bound: with these delays as recorded, plus that error. */
  high_us: number | null;
  /** Unexplained delays on the critical path of the replay with nothing changed. */
  unexplained_us: number | null;
  /** Share of the device time whose launch is in the trace; null without a device event. What was launched before the steps does not count: the replay has it as it was. */
  launches_known: number | null;
  /** What the time of the predicted step consists of. */
  critical_path: PathTime | null;
  /** The same for the replay with nothing changed. */
  replayed_path: PathTime | null;
  /** Modules on the critical path of the predicted step, the longest first, then those off it with the least slack; null where the replay is refused, or they were not asked for, as the next three. */
  path_modules: PathModule[] | null;
  /** Number of modules that are not listed: of those on the critical path the longest 100 are, of the others the 50 with the least slack. */
  path_modules_left_out: number | null;
  /** Time on the critical path of the modules that are not listed. */
  path_modules_rest: PathTime | null;
  /** Kinds of device events of the predicted step, those longest on the critical path first. */
  path_kinds: PathKind[] | null;
  /** Number of steps that were replayed. */
  steps: number;
  /** Why nothing was replayed; null where it was. */
  refused: string | null;
  /** Ids of findings that were asked to be gone and whose gain is unknown: nothing of them is changed. Where nothing else was asked, the replay is refused. */
  as_recorded: string[];
}

/** Activity of host and devices in a window, clipped to it. */
export interface WindowStatistics {
  /** Start of the window. */
  start: number;
  /** End of the window. */
  end: number;
  /** Rows of the trace that touch the window. */
  events: number;
  /** Time in which any thread waited for a device, as `steps[].sync_blocked_us`: without the profiler's own sync. Null, as the next two, where `totals.sync_count` is. */
  host_blocked_us: number | null;
  /** Syncs that touch the window, the profiler's own among them. */
  waits: number | null;
  /** Sum of their times in the window. */
  sync_blocked_us: number | null;
  /** Host time within steps by phase, as the report's `steps[]`; without `forward` where that is unknown. */
  phases: Record<string, number>;
  devices: DeviceStatistics[];
  /** Up to 20 names of each kind, most expensive first. */
  top: TopEntry[];
  /** Names that `top` leaves out, by kind. */
  omitted: Record<string, number>;
}

/** Work of one direction (forward, backward, recompute) of one module. Device times are sums of durations: work that ran at the same time on two streams counts twice. */
export interface Work {
  /** `self_host_us` plus that of all modules below in the tree. */
  host_us: number | null;
  /** `self_device_us` plus that of all modules below in the tree. Null, as all numbers of devices, without launches, and where a replayed graph may hold work of the module: it was not called in a step that replays a graph in no known phase, or is below the module that replays one. A host time of 0 is null then too. */
  device_us: number | null;
  /** Forward: time of the module's calls less that of module calls inside them, of nodes evaluated meanwhile, in them or on another thread for which they wait (an annotation may be around the backward pass, too), of torch's profiler where it starts or stops in one, and, without marks of steps, of syncs left out of the only one (`steps[].left_out_us`). Backward: time of the nodes attributed to the module, each less the evaluations nested in it (a re-entrant backward's) and less the calls of modules inside it (a recomputed forward), which are those modules'. */
  self_host_us: number | null;
  /** Forward: device work launched in the module's calls, outside the backward pass, and in no inner module's call. Backward: device work launched inside nodes that belong to the module; work launched inside a module's call within a node belongs to the module called. */
  self_device_us: number | null;
  /** Kernels (copies and sets not counted) of the module and those below. */
  kernels: number | null;
  /** `device_us` by kind of work, summing to it; kinds without any are left out. */
  by_kind: Record<string, number> | null;
  /** The part of `device_us` that is known to have run on tensor cores. */
  tensor_core_us: number | null;
  /** `device_us` less `communication_us`: the total by which modules are ranked, shown and compared. */
  compute_us: number | null;
  /** `self_device_us` less the module's own collectives. */
  self_compute_us: number | null;
  /** The part of `device_us` in collectives. They run in the hook of whichever module came last (a bucket's all-reduce), so they say nothing of its work. Those of `fully_shard` belong to the module that its range names (`FSDP::all_gather (blocks.0)`), else to the module in which they were launched, often the one above. */
  communication_us: number | null;
}
