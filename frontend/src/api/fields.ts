/** Units and definitions of the answers' fields, by type. Made from docs/openapi.json by `make schema`; do not edit. */
/* eslint-disable max-lines */

export const ActivityLane = {
  name: { text: "host or device; collectives are not in the latter." },
} as const;

export const ActivitySpan = {
  start_us: { unit: "us", text: "Since the start of the window." },
  duration_us: { unit: "us", text: "How long these columns are together." },
  module: { text: "Its path, the innermost that ran; null for what is no module." },
} as const;

export const Advice = { id: { text: "Id of the rule." } } as const;

export const Allocation = {
  count: { unit: "count", text: "Calls; one inside another is part of it." },
  blocked_us: { unit: "us", text: "Time in these calls." },
  device_idle_us: { unit: "us", text: "The `allocator` idle time during them." },
  waited_us: {
    unit: "us",
    text: "The part of `blocked_us` in which calls that free memory waited for the device. These are syncs, and the part is in `sync_blocked_us`.",
  },
} as const;

export const Amount = {
  count: { unit: "count", text: "Device events of the module and those below." },
  device_us: { unit: "us", text: "Sum of their durations." },
  self_count: { unit: "count", text: "Device events of the module alone." },
  self_device_us: { unit: "us", text: "Sum of their durations." },
} as const;

export const Balance = {
  name: { text: "As the program described the groups, such as `mesh_pp`." },
  dimension: { text: "pipeline, tensor, data, context or expert." },
  groups: { unit: "count", text: "Number of groups of that name." },
  ranks: {
    unit: "count",
    text: "Ranks at each place: the first of the groups, the second, ... In a pipeline a place is a stage.",
  },
  compute_us: { unit: "us", text: "As in `ranks`, mean over the ranks of a place." },
  communication_us: { unit: "us", text: "As in `ranks`, mean over the ranks of a place." },
  idle_us: { unit: "us", text: "As in `ranks`, mean over the ranks of a place." },
  wait_us: { unit: "us", text: "As in `ranks`, mean over the ranks of a place." },
} as const;

export const Breakdown = {
  id: { text: "As `step_id`." },
  start_us: {
    unit: "us",
    text: "Start of the step, but no earlier than the end of the one before.",
  },
  duration_us: {
    unit: "us",
    text: "Until the end of the step, or of the last device work launched in it. A step that the trace marks has the time of `left_out_us` of `steps[]`, as in torch_tb_profiler; another has not.",
  },
  kernel_us: { unit: "us", text: "Kernels that are not a collective's." },
  copy_us: { unit: "us", text: "Copies." },
  set_us: { unit: "us", text: "Sets." },
  communication_us: {
    unit: "us",
    text: "Kernels of collectives, and the `nccl:`, `gloo:`, ... rows of the host.",
  },
  runtime_us: { unit: "us", text: "Calls of the device's runtime or driver." },
  data_us: { unit: "us", text: "`DataLoader` annotations." },
  host_us: { unit: "us", text: "Operators and annotations." },
  other_us: { unit: "us", text: "The rest: Python between operators, or nothing." },
} as const;

export const CallRow = {
  id: {
    text: "Event of the call, the row of the trace that shows it; of a bin, of its first call.",
  },
  calls: { unit: "count", text: "1, or how many calls the bin holds; times are then their sums." },
  start_us: { unit: "us", text: "Start of the first call, on the trace's own clock." },
  duration_us: {
    unit: "us",
    text: "Length of the call on the host. That of a bin is from its first start to its last end.",
  },
  forward_host_us: { unit: "us", text: "As `forward.host_us` of the module." },
  forward_compute_us: { unit: "us", text: "As `forward.compute_us` of the module." },
  backward_host_us: {
    unit: "us",
    text: "As `backward.host_us` of the module, of the nodes that the call made.",
  },
  backward_compute_us: {
    unit: "us",
    text: "As `backward.compute_us` of the module, of the nodes that the call made.",
  },
  communication_us: {
    unit: "us",
    text: "As `communication_us` of the module, forward and backward together.",
  },
  backward_start_us: {
    unit: "us",
    text: "Start of the first of its autograd nodes; null where none ran.",
  },
  backward_duration_us: { unit: "us", text: "From there to the end of the last one." },
} as const;

export const CallsOverTime = {
  count: { unit: "count", text: "Calls." },
  binned: { text: "Whether a row is a bin of consecutive calls: from 2,000 calls on." },
  slowest: {
    text: "The most expensive single call by each measure; measures without any time are left out.",
  },
} as const;

export const Cause = {
  part: { text: "data, forward, backward, optimizer, garbage collection or other." },
  block: { text: "Block of the model, of forward and backward; null where no block did." },
  excess_us: { unit: "us", text: "By how much, mean over the slow steps." },
} as const;

export const ChainLink = { id: { text: "Id of the event; null for what is on no lane." } } as const;

export const Collective = {
  name: { text: '`all_reduce`, ...; "" for unknown.' },
  group: { text: 'Process group by name and ranks; "" where no trace names it.' },
  sequence: { text: "Number in its group: as the traces number them, else counted over the run." },
  step: {
    text: "Step that launched it on the first rank that took part, as of `rank_steps`; null for none.",
  },
  bytes: {
    unit: "bytes",
    text: "Bytes of the whole operation, of the rank that has most where they differ (an uneven all-to-all); null for unknown.",
  },
  ranks: { unit: "count", text: "Number of ranks in the run that took part." },
  start_us: { unit: "us", text: "First start, on the clock of the run's first rank." },
  transfer_us: { unit: "us", text: "Shortest duration over the ranks." },
  wait_us: {
    unit: "us",
    text: "Mean over the other ranks of how much their duration exceeds the shortest, as in `ranks`.",
  },
  new_wait_us: {
    unit: "us",
    text: "The part of it that earlier collectives of the same ranks have not shown: where no host waits in between, a rank that was late once comes as late to the next ones.",
  },
  late_rank: {
    text: "The rank with the shortest duration: it came last. Null where the others waited too little for that, and of a collective with a root (broadcast, reduce, gather, scatter), whose ranks do not leave together.",
  },
  late_start_us: {
    unit: "us",
    text: "Its start on that rank, on the clock of that rank's own trace.",
  },
  late_module: {
    text: "Module on which it spent more time than the others since their last collective, or since the start of the step where they had none before; null for none, and where that explains less than a quarter of `new_wait_us`.",
  },
  late_reason: {
    text: "What it spent that time on: module, data, optimizer, sync, host, device; null for unknown. It is host, too, where none of these is long enough and its device waited for launches.",
  },
  late_by_us: {
    unit: "us",
    text: "Time of the straggler before it, less that of the next latest; null for unknown.",
  },
  bus_gb_per_s: {
    text: "Bytes over transfer time by the factor of nccl-tests for its kind, 10^9 bytes per second.",
  },
} as const;

export const CollectiveKind = {
  name: { text: '`all_reduce`, ...; "" for unknown.' },
  count: { unit: "count", text: "Number of matched collectives." },
  bytes: { unit: "bytes", text: "Sum of what is known; null where nothing is." },
  transfer_us: { unit: "us", text: "Sum over them." },
  wait_us: {
    unit: "us",
    text: "Sum over them of the mean wait of a rank; a delay counts in each that it delays.",
  },
  transfers: {
    unit: "count",
    text: "Number of them by transfer time, between the `edges_us` of the run.",
  },
  waits: { unit: "count", text: "The same by wait; those below the first edge are in the first." },
} as const;

export const CollectiveRanks = {
  refused: { text: "Why they cannot be shown on one clock, in one line; null where they can." },
  length_us: {
    unit: "us",
    text: "Time that is shown: the collective, and half of its length before it and after it.",
  },
  transfer_us: { unit: "us", text: "As in `collectives`." },
  clock_spread_us: {
    unit: "us",
    text: "Largest `clock_spread_us` of these ranks: how far moments of different ranks are comparable. Null where one is unknown.",
  },
  offset: {
    unit: "count",
    text: "Ranks before the first one here, the straggler not counted: it is always here.",
  },
  left_out: { unit: "count", text: "Ranks after the last one here." },
  ranks: { text: "Empty where it is refused." },
} as const;

export const CollectiveSize = {
  bytes: { unit: "bytes", text: "Bytes of the whole operation." },
  ranks: { unit: "count", text: "Number of ranks that took part." },
  count: { unit: "count", text: "Number of such collectives." },
  transfer_us: { unit: "us", text: "Median of their transfer times." },
  bus_gb_per_s: { unit: "GB/s", text: "Median of their bus bandwidths, 10^9 bytes per second." },
  max_bus_gb_per_s: { unit: "GB/s", text: "Bus bandwidth of the fastest." },
} as const;

export const Comparison = {
  measure: {
    text: '"device" where both traces hold the device time of their backward pass, or of a forward without one, else "host".',
  },
  step_us: { unit: "us", text: "Mean length of a step on the host." },
  forward_us: {
    unit: "us",
    text: "Time of the forward, by `measure`: `totals.forward_compute_us` or `steps[].forward_us`.",
  },
  backward_us: {
    unit: "us",
    text: "Time of the backward, by `measure`: as `coverage.backward_device_us` less its communication, which `device_us_by_kind` has, or its host time. With that of the modules and `backward_unattributed_us` it adds up.",
  },
  backward_unattributed_us: { unit: "us", text: "The part of it that belongs to no module." },
  syncs: { unit: "count", text: "Syncs, without the profiler's own." },
  sync_blocked_us: { unit: "us", text: "Sum of their durations." },
  modules: { text: "Those that changed most first, as in each of the tables below." },
  whole_step_us: {
    unit: "us",
    text: "Mean length of a step on the device, `verdict.step_us`, where it is longer there than on the host, and the step is bound by device or communication (`verdict.bound`) or their work alone takes longer; else as `step_us`: in a host-bound loop the device catches up in the next step.",
  },
  unrecorded_step_us: {
    unit: "us",
    text: "`verdict.unrecorded_step_us`: steps without what recording cost, an estimate. Null where that made neither side's step 5% longer or more: then recorded steps can be compared as they are.",
  },
  speedup: {
    unit: "times",
    text: "`whole_step_us.base` divided by `whole_step_us.other`: 2 is twice as fast. Null where a side has no steps.",
  },
  phases_us: { unit: "us", text: "The host's phases, which sum to `step_us`." },
  device_busy_us: { unit: "us", text: "Time in which the devices did any work, summed over them." },
  device_idle_us: { unit: "us", text: "Time in which they did none." },
  idle_us: {
    unit: "us",
    text: "`device_idle_us` by its cause, summing to it; empty where neither side has it.",
  },
  device_us_by_kind: { unit: "us", text: "All device work by its kind." },
  sync_sites: {
    text: "By cause and call site. They sum to `syncs` and `sync_blocked_us`, which leave out the profiler's own call.",
  },
  kernels: {
    text: "Device work by name; with `kernels_omitted_us` it sums to `device_us_by_kind`.",
  },
  kernels_omitted_us: {
    unit: "us",
    text: "Device work of the names that a side's table of kernels leaves out.",
  },
  spread: { text: "Of `duration_us` and the other times of `steps`, by the field's name." },
  memory: { text: "Peaks by device; empty where neither trace records memory." },
} as const;

export const CompiledGraphs = {
  calls: { unit: "count", text: "Calls of graphs, in forward and backward." },
  placed: {
    unit: "count",
    text: "Calls whose rows agree with the map. What the others ran stays with the module around the compiled region.",
  },
  whole_by_reason: {
    unit: "count",
    text: "The others by reason: no map of the graph (a cache that was filled without the recorder, say), a map of other modules, rows that differ from the map, calls of modules or nodes inside.",
  },
} as const;

export const CompiledLump = {
  calls: {
    unit: "count",
    text: "Calls of graphs, in forward and backward; of regions where the trace has no graphs.",
  },
  host_us: { unit: "us", text: "Host time of the calls." },
  device_us: {
    unit: "us",
    text: "Device work launched in them that is charged to the module; null without launches.",
  },
} as const;

export const CompiledRegion = {
  region: {
    text: "`Torch-Compiled Region: compile id`; of a backward the one of its forward. Null for unknown, and for generated kernels that ran in no region.",
  },
  graph: { text: "Key of the graph, as in `## Call CompiledFxGraph key ##`." },
  operators: {
    text: 'The operators in the name of a generated kernel (`add_relu` of `triton_poi_fused_add_relu_1`), else the extern call (`aten::mm`); "" for host time between them: the code around kernels, and on a CPU generated kernels, which leave no rows.',
  },
  generated: { text: "Whether they are one kernel that Inductor generated." },
  calls: { unit: "count", text: "Rows of calls; of a replayed CUDA graph its kernels." },
  host_us: { unit: "us", text: "Time of the rows of these calls." },
  device_us: {
    unit: "us",
    text: "Device work launched in them; null where the trace has no launches.",
  },
} as const;

export const Coverage = {
  backward_device_us: {
    unit: "us",
    text: "All device work launched inside a node, whatever launched it. Equals `totals.backward_device_us` and the sum over modules of `backward.self_device_us` plus `unattributed_us`.",
  },
  unattributed_us: { unit: "us", text: "The part of it that belongs to no module." },
  backward_host_us: {
    unit: "us",
    text: "Time of all nodes, each less the evaluations nested in it. Equals the sum over modules of `backward.self_host_us` plus `unattributed_host_us`. Null, as the next, where the trace has no operators, nodes or marks that would show a backward pass.",
  },
  unattributed_host_us: { unit: "us", text: "The part of it that belongs to no module." },
  by_evidence: {
    unit: "us",
    text: "Attributed backward time by evidence. It is device time where there is any, else host time; `measure` says which.",
  },
  measure: { text: '"device" or "host".' },
  by_evidence_host: { unit: "us", text: "Attributed backward host time by evidence." },
  unattributed_by_reason: {
    unit: "us",
    text: "The rest, in `measure`, by reason: a gradient whose parameter is not known (no gradient mark), a node whose forward operator is not in the trace, a forward operator that ran in no module, a trace that names no modules at all, a launch in a range by which a pipeline marks its backward, outside of autograd nodes.",
  },
  by_origin: {
    unit: "us",
    text: "Attributed backward time, in `measure`, by what names the module: `recorder` (marks or the manifest), `lightning`, `python_stack` (the stack's own label, `Linear_3`), `annotation` (no module at all: a range that somebody put around the forward).",
  },
  communication_device_us: {
    unit: "us",
    text: "The part of `backward_device_us` that is communication.",
  },
  unattributed_communication_us: {
    unit: "us",
    text: "The part of `unattributed_us` that is communication.",
  },
} as const;

export const Device = {
  id: { text: 'Device index as the trace numbers it, as text ("0").' },
  kind: { text: '"cuda", "hip", "ze" or "ur" (XPU); "device" where the runtime is unknown.' },
} as const;

export const DeviceStatistics = {
  busy_us: { unit: "us", text: "Time in which any work ran." },
  idle_us: { unit: "us", text: "Time in which none did." },
  idle_by_cause: {
    unit: "us",
    text: "`idle_us` by cause, as the report's `steps[].idle`; sums to it.",
  },
} as const;

export const DeviceUse = {
  id: { text: "As `device`." },
  span_us: { unit: "us", text: "From the first start to the last end of the selected work." },
  busy_us: { unit: "us", text: "The part of it in which any work ran." },
  compute_us: {
    unit: "us",
    text: "Time in which any kernel ran that is not a collective's. That of a rank (`hookview ranks`) is a mean per step, and has copies and sets too.",
  },
  communication_us: { unit: "us", text: "Time in which any kernel of a collective ran." },
  overlapped_us: { unit: "us", text: "Time in which both ran." },
  kernel_us: { unit: "us", text: "Sum of the kernels' durations." },
  tensor_core_us: { unit: "us", text: "The part of it on tensor cores, by the kernels' names." },
  tensor_core_eligible_us: {
    unit: "us",
    text: "The part of it launched by an operator that tensor cores could serve (the list is in `kinds.py`) and that holds no other such operator, and all of `tensor_core_us`. Where the trace lacks the operator of a kernel (a replayed graph, a launch before the recording), it is eligible only if it ran on them. Null where the trace has no launches by operators.",
  },
  utilization: {
    unit: "fraction",
    text: "Share of the selected steps as in `breakdown` (from the first one's start to the last one's end) in which any kernel ran. Copies do not count.",
  },
  sm_efficiency: {
    unit: "fraction",
    text: "Mean over the same time of the sum of `blocks per SM` of the kernels that run, of which at most one counts; null where these arguments are not in the trace (AMD, torch's second exporter).",
  },
  occupancy_pct: {
    unit: "percent",
    text: "Mean of `est. achieved occupancy %`, weighted by the kernels' time in it; null where it is not in the trace (AMD, torch's second exporter).",
  },
} as const;

export const DryRunReport = {
  program: { text: 'The script; "" where the program called `dry_run` itself.' },
  devices: { unit: "count", text: "CUDA devices that were there for the program." },
  steps: { unit: "count", text: "Steps that were completed." },
  measured: {
    text: "Steps that limits are about: without the first, which holds the preparation, if there are others.",
  },
  sync_count: { unit: "count", text: "Syncs of the measured steps: certain, and not allowed." },
  most_per_step: { unit: "count", text: "The most of those in one step." },
  notes: { text: "What this run did otherwise than a GPU would." },
  unknown: { text: "What no dry run can know." },
  unused_allowances: { text: "Entries of the list of those allowed that matched nothing." },
} as const;

export const DrySync = {
  step: { text: "Number of the step, from 0; the first one holds what precedes it too." },
  phase: { text: '"forward", "backward", "optimizer" or "other".' },
  operator: {
    text: "The operator that holds the sync, as a recording names it; of an explicit one the call of the CUDA runtime.",
  },
  within: { text: "The operator around it, where that is known." },
  node: { text: "Autograd node of the backward pass." },
  module: {
    text: "Path below the root of the model; in the backward pass that of the forward that made the node. Null where there is no module.",
  },
  line: {
    text: "\"file.py:12\", the program's innermost line; null where no frame is the program's.",
  },
  file: { text: "The file in full." },
  last_line: { text: "Last line of the expression; with both columns null before Python 3.11." },
  column: { text: "First column of the expression, from 0, in bytes." },
  code: { text: 'The whole statement, in one line; "" where the source is unknown.' },
  via: { text: "The line of torch's Python code in which it is." },
  forward_line: {
    text: "In the backward pass the line of the forward operator that made the node.",
  },
  stack: { text: 'The program\'s frames, innermost first: "file.py(line): function".' },
  cause: { text: "Id of the rule of the trace's findings that such a sync belongs to." },
  title: { text: "The rule's title." },
  fix: { text: "The rule's fix." },
  reason: { text: "What the host waits for." },
  nbytes: { unit: "bytes", text: "Bytes that are copied, each time; null where nothing is." },
  certain: { text: "False where the driver decides whether the host waits." },
  count: {
    unit: "count",
    text: "Times in this step that torch's own code waits; one for each call of an operator in which only a library does, however often.",
  },
  allowed: {
    text: "The reason why it may be there, from the list of those allowed; null elsewhere.",
  },
} as const;

export const ErrorDetail = { message: { text: "One line for a person." } } as const;

export const EventDetail = {
  lane: { text: "Id of the lane that shows it." },
  depth: { text: "Its row of the lane, from 0." },
  colour: { text: "Row of the timeline's colours." },
  start: { unit: "us", text: "Start of the event." },
  duration: { unit: "us", text: "Length of the event." },
  category: { text: "Category of a row of the trace, or what the analysis made the event of." },
  evidence: { text: "Evidence for the module of a node, or of its device work." },
  no_module: { text: "Reason for which the module is unknown." },
  self_us: {
    unit: "us",
    text: "Of a host row: less the host rows inside. Of a phase: without the gaps.",
  },
  device_us: { unit: "us", text: "Device work launched inside a host row or a module." },
  chain: { text: "From what is around the event outwards." },
  links_omitted: { unit: "count", text: "Links beyond the first 200." },
  args: { text: "Arguments in the file as text; null where it cannot be read any more." },
} as const;

export const EventLink = {
  lane: { text: "Id of the lane that shows it." },
  depth: { text: "Its row of the lane, from 0." },
  colour: { text: "Row of the timeline's colours." },
  start: { unit: "us", text: "Start of the event." },
  duration: { unit: "us", text: "Length of the event." },
  relation: { text: "Reads from the event to what is linked." },
  kind: { text: "Kind of the link; null where it only says what is around or inside." },
  evidence: { text: "What in the trace shows it; null where nothing needs to." },
} as const;

export const EventSummary = {
  lane: { text: "Id of the lane that shows it." },
  depth: { text: "Its row of the lane, from 0." },
  colour: { text: "Row of the timeline's colours." },
  start: { unit: "us", text: "Start of the event." },
  duration: { unit: "us", text: "Length of the event." },
} as const;

export const Finding = {
  id: { text: "`rule:where`; the report numbers those that share it." },
  rule: { text: "Id of the rule." },
  severity: {
    text: "By the gain (`unrecorded_gain_us_per_step`, where known), else by the cost, the mean of several devices, or, of exposed communication, by what a replay without any saves, if less: `high` from 5% of the step, `medium` from 1%, `low` below; `info` where it costs and gains nothing in this trace. A trace that shows no steps counts without its set-up: idle time of 1 ms and more at a time while code is loaded, memory is allocated or the host does other things (but for what each quarter of the trace has a tenth of), and of 10 ms and more for unknown reasons.",
  },
  where: { text: "Module and node or operator, as a person reads it." },
  module: { text: "Path of the module; null where there is no module, and for several modules." },
  cost_us_per_step: {
    unit: "us",
    text: "Device idle time charged to the finding, plus device time spent on work that could be avoided. Each moment of idle time (see `steps[].idle`) is charged to at most one finding, that of the first rule in priority, and so is each nanosecond of a device event that could be avoided; `evidence` says how much of it was charged to others. Where the model ran on the CPU, or waits for other ranks without a device in the trace, it is time of the host. Null where the trace does not say what the device did.",
  },
  device_work_us_per_step: {
    unit: "us",
    text: "The part of it that is device time spent on work that could be avoided; the rest is idle time of the devices, or time of the host. Null where the cost is.",
  },
  once_us: {
    unit: "us",
    text: "Time that it takes once in a run, in its first step or as code is loaded or compiled, where it happens once: such a finding is of severity `low` at most, and comes after those that recur (where none saves 0.5% of the step only after those that cost as much; compilation that takes most of a trace without steps before them). Null for these.",
  },
  gain_us_per_step: {
    unit: "us",
    text: "How much shorter a step is in a replay without the cause: syncs do not wait, nor do those right after them that would wait for the same work instead (a caveat says what they save alone); loaders, copies and allocations take no time, nor does what the host did while it made the device idle, and avoidable device events are gone or shorter. Gains of several findings do not add up; a replay without all of them (`whatif`) says what they gain together. Null where there is no replay; `gain_unknown` then says why.",
  },
  unrecorded_gain_us_per_step: {
    unit: "us",
    text: "The same in later steps, that are not recorded: in replays without what recording cost the host, an estimate by the rows of the trace (`verdict.unrecorded_step_us`), and without kernel loading, which happens once. Findings are ordered by it, those of unknown gain by what their cost has on the critical path; before them stands what dominates the trace though it happens once, and waiting in every step for the loader's workers. Null where `gain_us_per_step` is, and where no kernel is loaded and the cost of recording is unknown, as that field.",
  },
  gain_is_estimated: {
    text: "Whether that estimate differs from `gain_us_per_step` by over a tenth of the larger of both: then it is what is shown.",
  },
  gain_bound_us_per_step: {
    unit: "us",
    text: "Bound of the gain without a replay: the charged idle time, no more than the devices idled in a step, plus the part of the avoidable work that goes. It overlooks what would limit the step then, that syncs hold the host back beyond their duration, and launches that go with kernels. Null where what goes is more than what it costs, as a forward that runs again: its device time is the cost; null, too, where most launches have no device events. Where the trace does not show what the fix gains, and the cost is device work alone: how much shorter a step is in a replay without all of it, of collectives without any communication, recorded or later, whichever is more, and no more than the cost.",
  },
  gain_unknown: { text: "Reason for which `gain_us_per_step` is null." },
  saves_after: {
    text: "What has to get faster first, where the finding saves next to nothing now: `host`, with data loading, or `device`, with communication. Without that it saves over ten times as much in a replay. Null where the finding saves 0.5% of the step, costs less, saves less than that even then, or it is unknown.",
  },
  negligible: {
    text: "Whether it is left out where only what is worth changing first is listed: it saves less than 0.5% of the step, also after the other side is faster, or, where its gain is unknown, costs nothing.",
  },
  evidence: { text: "The observation, with its figures." },
  confidence: {
    text: 'Certainty that the events prove the cause, "high", "medium" or "low": the rule\'s, or less where an occurrence rests on weaker evidence.',
  },
  reference: { text: "Source to read on." },
  advice: { text: "Related rules that no trace shows, to look at as well." },
  count: { unit: "count", text: "Number of times the rule holds in the measured steps." },
  examples: { unit: "us", text: "Starts of the first 20 of these; of syncs: `syncs[].start_us`." },
  examples_us: {
    unit: "us",
    text: "Length of the longest call, device event, sync, idle time or step that begins at each of `examples`, or of idle time charged to the finding that begins as a step does; null where none does: a moment.",
  },
  examples_event_id: {
    text: "The event of that length, or the call that held the longest part of the sync; null for idle times, steps and moments.",
  },
  sync_ids: { text: "Syncs of the measured steps which it explains." },
  caveats: {
    text: "Reasons for which the figures may be wrong: stacks and shapes recorded, which slow the host (given where idle time is charged); a gain that holds under conditions.",
  },
} as const;

export const FindingChange = {
  cost_us: { unit: "us", text: "`cost_us_per_step` of the finding." },
  gain_us: { unit: "us", text: "`gain_us_per_step` of the finding." },
  once_us: {
    unit: "us",
    text: "`once_us` of the finding: what happens once is spent in no other step.",
  },
} as const;

export const History = {
  world_size: { unit: "count", text: "Ranks of the run, by its process group." },
  missing_ranks: { text: "Ranks without a file." },
  earlier: {
    unit: "count",
    text: "Watches of the same ranks that began earlier, and are left out.",
  },
  step_us: { unit: "us", text: "Median of the ranks' medians; null without a measured step." },
  gc_per_step: { unit: "count", text: "Garbage collections per step, mean over ranks." },
  slow_steps: { text: "The most expensive first, 100 at most." },
  slow_steps_total: { unit: "count", text: "Slow steps in all." },
  slow_excess_us: {
    unit: "us",
    text: "Time by which all of them together were longer than the medians before them.",
  },
  slow_ranks: { text: "The worst first." },
} as const;

export const HistoryPoints = {
  first: { text: "First step." },
  last: { text: "Last step." },
  min_us: {
    unit: "us",
    text: "Shortest step of any rank; null without a measured step, as what follows.",
  },
  median_us: { unit: "us", text: "Median step of all ranks." },
  max_us: { unit: "us", text: "Longest step of any rank." },
  ranks: { unit: "us", text: "Median step by rank, of at most 16 ranks: those that differ most." },
  parts: {
    unit: "us",
    text: "Mean over ranks of the medians of data, forward, backward, after_backward, optimizer, garbage collection and other, which is the rest of the step.",
  },
  forward: { unit: "us", text: "By block, mean over ranks." },
  backward: { unit: "us", text: "By block, mean over ranks." },
} as const;

export const Idle = {
  sync: {
    unit: "us",
    text: "The host was in a sync, or after one, as in `syncs[].device_idle_us`. After a sync only where none of `data_loading`, `copy`, `allocator` and `profiler` holds. The sum over syncs equals the sum over steps, but for syncs before, after or across steps: the part is counted where the idle time lies, the sync where it began.",
  },
  data_loading: { unit: "us", text: "The host was inside a `DataLoader` annotation." },
  copy: {
    unit: "us",
    text: "A thread that launches work was inside a synchronous copy, or one of memory that is not pinned, while the device had nothing to do (its copy had not begun).",
  },
  allocator: {
    unit: "us",
    text: "A thread that launches work was inside a call that allocates or frees memory (see `kernel_loading`).",
  },
  kernel_loading: {
    unit: "us",
    text: "A thread that launches work was loading the code of kernels, as one of these shows. (1) A call that loads modules. (2) The first launch of a kernel in the trace, over 20 times the median of the call's later ones until the kernel began, without a wait, copy or allocation in it. (3) An operator in which a library (cuBLAS, cuDNN, MIOpen) starts, until it launches its first kernel: the first of its name that launches any, over 20 times later than the median of the others (of all others where none has its name). In it is `hipInit`, or `cudaFree` next to a call for properties of the device, or as the first call and before `cudaMalloc` where the operator is mostly in no call. Calls that allocate in it are `allocator`. (4) Such a `cudaFree` elsewhere, over 20 times the median of other calls that allocate or free; as the trace's first call, before all device work, over 100 times the longest of these. (5) A scripted function until a kernel of TorchScript's fuser first runs, 1 ms or more in no call, in which it compiles. (6) A call that launches nothing, for more than half of which the driver recorded that it loads. (7) A call of over 50 us that asks about a kernel (`cudaFuncGetAttributes`, `cudaFuncSetAttribute`, `cudaOccupancyMaxActiveBlocksPerMultiprocessor` and the like). (8) Other rows in which the driver does. Where Kineto does not know the driver's kinds of rows, those named `Unrecognized` are of loading that lie in such a call, in a first launch, or in a call that looks up a function or variable.",
  },
  launch: {
    unit: "us",
    text: "The next work was launched too late: its launch began after the gap did (less the launch latency), or the launching call of a kernel was still open then. The host had other things to do. The time ends with the launching call, or one launch latency after it began if that is later; a start up to one more latency later is part of it. Before the launch of a device's first work the launching thread was in anything recorded, and the device then started that work at once. After the last work of the only device the host launched nothing more, up to its last call that waits for the whole device, also the profiler's own: that shows the device idle.",
  },
  communication: {
    unit: "us",
    text: "The host was inside a collective of gloo, MPI or UCC, or a barrier; or the next work had been launched by then and was a collective's copy; or it had been launched in time and the work before was one. Kernels of collectives (NCCL) wait for other ranks as they run, not before: that time is busy. What is launched after a collective's end waits for no other rank.",
  },
  profiler: {
    unit: "us",
    text: "The profiler recorded overhead of its own, or was inside its own sync. `overhead` rows of the driver (loading of modules, a full command buffer) are not the profiler's. Or a thread was in the trace's first launch, and this alone is by (2) of `kernel_loading`, with ten or more other kernels launched, and nothing else loads: the profiler had just started.",
  },
  device: {
    unit: "us",
    text: "The next work had been launched by then, or before the trace began: the device idled although work was queued, or for something the trace does not show.",
  },
  unknown: {
    unit: "us",
    text: "Before the launch of a device's first work, where `launch` does not hold; between the launch and a late start of the first work of a device or a stream, as it is not in the trace what was queued before; after its last work, where `launch` does not hold; before work whose launch is not in the trace; whatever else holds, from a launch whose work is not in the trace to the first work launched later.",
  },
} as const;

export const InputShapes = {
  dims: { text: "Shapes of the operator's inputs as the trace writes them; `[]` without a shape." },
  calls: { unit: "count", text: "Calls with these inputs." },
} as const;

export const Kernel = {
  kind: { text: "Kind of device work." },
  event: { text: 'The request to the device: "kernel", "copy" or "set".' },
  count: { unit: "count", text: "Device events." },
  graph_count: {
    unit: "count",
    text: "Those of a graph: launched by a `*GraphLaunch` call, or with a `graph id`.",
  },
  total_us: { unit: "us", text: "Sum of their durations." },
  mean_us: { unit: "us", text: "Mean of their durations." },
  min_us: { unit: "us", text: "The shortest of them." },
  max_us: { unit: "us", text: "The longest of them." },
  by_phase: {
    unit: "us",
    text: "`total_us` by the phase of the launch, an unknown phase's in `other`. Work without a launch in the trace is in none.",
  },
  tensor_core: {
    text: "Whether it ran on tensor (matrix) cores, by its name; null where unknown. Only `matrix`, `convolution` and `attention` can.",
  },
  blocks_per_sm: {
    unit: "count",
    text: "Mean of `blocks per SM`, weighted by duration; events without it do not count. Null where it is not in the trace (AMD, torch's second exporter), or in that of less than half of the time.",
  },
  occupancy_pct: {
    unit: "percent",
    text: "Mean of `est. achieved occupancy %`, weighted by duration; events without it do not count. Null where it is not in the trace (AMD, torch's second exporter), or the profiler does not know it (it writes 0, although each multiprocessor has a warp) for more than half of the time.",
  },
} as const;

export const KernelChange = {
  count: { unit: "count", text: "Device events." },
  total_us: { unit: "us", text: "Sum of their durations." },
} as const;

export const KernelSearch = {
  names: {
    unit: "count",
    text: "Different names that hold the text, whether a module launched them or not.",
  },
  paths: { text: "In the order of the report's modules, each once." },
  omitted: { unit: "count", text: "Modules found beyond the first 2,000." },
} as const;

export const KernelUse = {
  id: { text: "Row of the report's kernels, which are cut to the most expensive names." },
  event: { text: '"kernel", "copy" or "set".' },
  recompute: { text: "A part of `backward`." },
} as const;

export const KernelUseOmitted = {
  names: { unit: "count", text: "Names of kernels, copies and sets." },
} as const;

export const KernelsOmitted = {
  names: { unit: "count", text: "Names left out." },
  count: { unit: "count", text: "Device events of these names." },
  total_us: { unit: "us", text: "Sum of their durations." },
} as const;

export const KnownTrace = {
  step_us: {
    unit: "us",
    text: "Mean length of its steps: on the device where they take longer there, else on the host.",
  },
  devices: { text: "Names of its devices, each once; empty without device events." },
  bound: { text: "`verdict.bound` of its report, as the next." },
} as const;

export const LaneBlocks = {
  start: { unit: "us", text: "Start of each block." },
  duration: {
    unit: "us",
    text: "Length of each block; of merged events, from the first start to the last end.",
  },
  name: { text: "Rows of the window's names; -1 where events of several names are merged." },
  colour: { text: "Rows of the timeline's colours." },
  count: { unit: "count", text: "Events in each block; 1 for an event by itself." },
  event: { text: "Id of the event, -1 for a merged block." },
} as const;

export const LaneCurve = {
  start: { unit: "us", text: "Start of each value." },
  value: {
    unit: "count",
    text: "Device events that were launched and have not begun; of a lane of memory bytes.",
  },
} as const;

export const LeftOut = {
  links: { unit: "count", text: "Links that lead out of it." },
  folders: { unit: "count", text: "Folders that cannot be listed." },
} as const;

export const ListedRun = {
  name: { text: 'Its path relative to the log directory, "." for that itself.' },
} as const;

export const ListedTrace = {
  id: { text: "The digits in the file's name; its name where two files have the same." },
  bytes: { unit: "bytes", text: "Size of the file, as it lies on the disk." },
  modified: { unit: "s", text: "Since 1970." },
} as const;

export const Marks = {
  forward: { unit: "count", text: "Forward ranges." },
  gradient: { unit: "count", text: "Gradient marks." },
  backward: { unit: "count", text: "Marks before and after a module's backward, each counted." },
  function: { unit: "count", text: "Ranges around calls that scale or clip gradients." },
} as const;

export const MemoryAnswer = {
  recorded: { text: "Whether the trace was recorded with `profile_memory=True`." },
  devices: { text: "With the largest peak first." },
  peaks: { text: "Of the whole trace for each device, then of the steps of the chosen one." },
  modules: { text: "Of the chosen device at the chosen peak; at most 500, largest first." },
  parameter_bytes: {
    unit: "bytes",
    text: "Bytes of all parameters by the recorder's manifest, counted by the allocator or not.",
  },
} as const;

export const MemoryBand = {
  start_us: { unit: "us", text: "Start, on the trace's own clock." },
  end_us: { unit: "us", text: "End, on the trace's own clock." },
} as const;

export const MemoryChange = {
  id: { text: "The device as `torch.device` spells it." },
  allocated_bytes: { unit: "bytes", text: "Most bytes that were allocated at a time." },
  reserved_bytes: {
    unit: "bytes",
    text: "Most bytes that the allocator held at the peak of a step.",
  },
} as const;

export const MemoryCurve = {
  start_us: { unit: "us", text: "Start of the window." },
  end_us: { unit: "us", text: "End of the window." },
  time_us: { unit: "us", text: "Times of the points, on the trace's own clock." },
  allocated_bytes: { unit: "bytes", text: "`Total Allocated` from each point on." },
  reserved_bytes: {
    unit: "bytes",
    text: "`Total Reserved` from each point on; null where the allocator holds nothing back.",
  },
  classes: {
    unit: "bytes",
    text: "Live bytes of each class from each point on; they sum to `allocated_bytes`. Classes without any are left out, all of them where the trace has no addresses.",
  },
  exact: {
    text: "Whether each event is a point. Else the window is in equal parts, with the highest and lowest level of each.",
  },
  phases: { text: "Longest 500 of the window, in order of time." },
} as const;

export const MemoryModule = {
  module: { text: "Null for what is not in a module." },
  peak_bytes: {
    unit: "bytes",
    text: "Live at the peak of the selected steps, allocated in this module.",
  },
  classes: { unit: "bytes", text: "They sum to `peak_bytes`." },
  allocated_bytes: {
    unit: "bytes",
    text: "Bytes of all blocks allocated in the selected steps, freed or not.",
  },
  allocations: { unit: "count", text: "Blocks allocated in the selected steps." },
  activations: { unit: "count", text: "Those of them that were saved for the backward pass." },
  activation_bytes: { unit: "bytes", text: "Their bytes." },
  activation_lifetime_us: {
    unit: "us",
    text: "Mean time from allocation to free, of those freed in the recording; null without one.",
  },
  activation_longest_us: { unit: "us", text: "The longest of these times." },
  checkpoint_bytes: {
    unit: "bytes",
    text: "Most bytes that checkpointing the module would free at the peak: activations live then that were allocated in it or below, and freed by its nodes or by those below. An upper bound, since its own backward needs them all again: the peak may move there. Null without a module.",
  },
} as const;

export const MemoryOperator = {
  calls: { unit: "count", text: "Rows of that name in the trace." },
  increase_bytes: {
    unit: "bytes",
    text: "Allocated minus freed, operators inside included, each once; below 0 where more was freed.",
  },
  self_increase_bytes: { unit: "bytes", text: "The same without the operators inside." },
  allocated_bytes: { unit: "bytes", text: "Allocated, operators inside included." },
  self_allocated_bytes: { unit: "bytes", text: "Allocated by the operator itself." },
  allocations: { unit: "count", text: "Blocks allocated, operators inside included." },
  self_allocations: { unit: "count", text: "Blocks that the operator itself allocated." },
} as const;

export const MemoryPeak = {
  device: { text: "As `torch.device` spells it: `cpu`, `cuda:0`." },
  step: { text: "Null for the peak of the whole trace." },
  time_us: {
    unit: "us",
    text: "The first moment at which it was reached, on the trace's own clock.",
  },
  allocated_bytes: {
    unit: "bytes",
    text: "`Total Allocated` of the allocator, and memory that it does not count: batches that a loader's workers share.",
  },
  reserved_bytes: {
    unit: "bytes",
    text: "`Total Reserved` at that moment: bytes that the allocator holds, in use or not. Null on the CPU, where none are held back.",
  },
  classes: {
    unit: "bytes",
    text: "They sum to `allocated_bytes`. Null where the trace has no addresses.",
  },
  phase: { text: "Phase of the host row around the last allocation up to then; null without one." },
  operator: { text: "Innermost operator around it." },
  module: { text: "Module whose row that is." },
  event_id: { text: "That row." },
} as const;

export const Minimap = {
  start: { unit: "us", text: "Start of each." },
  duration: { unit: "us", text: "Length of each." },
  colour: { text: "Rows of the timeline's colours." },
} as const;

export const Module = {
  path: {
    text: "Qualified name as `named_modules()` gives it below the wrapped root, `\"\"` for the root; without names in the trace, the stack's or annotation's own label.",
  },
  parent: {
    text: "Path of the module above; null for a root. By qualified names where the trace has them, else the innermost module around all calls: one that several call is below none of them.",
  },
  depth: { text: "Modules above it; 0 for a root." },
  calls: {
    unit: "count",
    text: "Calls of the module outside the backward pass; of a module inside a compiled region, calls of placed forward graphs that hold it. Where these are not seen, 0 (see `forward`).",
  },
  forward: {
    text: "All null where the module's calls are not seen: it was not called, and runs in compiled code that no map places, or the recorder was not to mark it (`include`, `exclude`, `depth`), or gradients of its parameters are marked, as where `forward` is called directly or another module uses them, or none of its root's modules was called though gradients of these are marked (or none of any root); the same holds for a module without calls above such a one. What it did is in the times of the module around its calls, or of none.",
  },
  backward: {
    text: "Where the module's calls are not seen, only a part: gradients that are marked, and modules below whose calls are seen; null where there is none.",
  },
  recompute: {
    text: "The part of `backward` that is forward work done again within a node (activation checkpointing): calls of modules inside a node and the device work they launched; in no module's call, forward operators inside a node, which are charged to the node's module. Forward operators are known by their sequence numbers; where nodes made inside a node are evaluated outside it (a backward that is differentiated itself), numbers say nothing. Null where the module and those below it recomputed nothing.",
  },
  backward_ratio: {
    unit: "times",
    text: "`backward.compute_us` divided by `forward.compute_us`; host times where the trace has no device; null where the forward took none.",
  },
  occupancy_pct: {
    unit: "percent",
    text: "Mean of the kernels' `est. achieved occupancy %` (the profiler's estimate from the launch's shape), weighted by duration, over the module and those below, both directions; null where it is not in the trace (AMD, torch's second exporter).",
  },
  kernel_loading_us: {
    unit: "us",
    text: "The part of its host times, and of those of modules below it, that the host spent loading the code of kernels on their first use, as in the idle time of that cause: charged once, to whichever module came first. Null without launches, and where `sync.count` is null for want of operators.",
  },
  shapes: {
    text: "`Input Dims` of the first operator that has any in each call of the module, the three most frequent; recomputed calls do not count. Empty where the trace was recorded without `record_shapes`.",
  },
  compiled: {
    text: "Whether the module runs inside a compiled region (`torch.compile`), if it ran: it was not called on its own, and the recorder says so, or a region ran in the nearest module above it that was called. Where our recorder's map places the region's graphs, its calls and times are known. Elsewhere its calls are not seen.",
  },
  compiled_lump: {
    text: "Compiled code in the module's self time, not broken down by module: the trace holds no map of our recorder's, or one that does not fit. Null where there is none.",
  },
  source: {
    text: "File and line where the module's class is defined, as our recorder wrote it down; without that, where the function `forward` is that ran in the module's first call and in no module further in, as Python stacks show it; null where there is neither.",
  },
  unseen: { text: "Why its calls and its work are unknown; null where they are known." },
} as const;

export const ModuleChange = {
  path: { text: "On the other side where it is there, else on the base's." },
  forward_us: {
    unit: "us",
    text: "Self time of the forward, by `measure`: as `forward.self_compute_us`, or `self_host_us`.",
  },
  backward_us: {
    unit: "us",
    text: "Self time of the backward, by `measure`, as that of the forward.",
  },
  syncs: { unit: "count", text: "In the module and those below it." },
  sync_blocked_us: { unit: "us", text: "In the module and those below it." },
  sync_idle_us: {
    unit: "us",
    text: "Idle time of the devices because of these syncs; see `modules[].sync.device_idle_us`.",
  },
} as const;

export const ModuleDetail = {
  kernels: { text: "Most expensive first, forward and backward together." },
  kernels_omitted: { text: "Null where the list is complete." },
  nodes: { text: "Most expensive first." },
  nodes_omitted: { text: "Null where the list is complete." },
  parameters: { text: "Null where the recorder left none." },
  backward_by_evidence: {
    unit: "us",
    text: "Backward time of the module alone by evidence, in the `measure` of `coverage`.",
  },
  forward_by_evidence: {
    unit: "us",
    text: "Forward time of the module alone that compiled graphs ran, by evidence; device time, on a trace without any that of the host. The rest of its forward is measured at its calls.",
  },
} as const;

export const ModuleSync = {
  count: {
    unit: "count",
    text: "Syncs. Null as `totals.sync_count`, and where no operators, annotations or calls of modules were recorded.",
  },
  blocked_us: { unit: "us", text: "Sum of their durations." },
  device_idle_us: { unit: "us", text: "Device idle time that they caused." },
} as const;

export const Node = {
  count: { unit: "count", text: "Evaluations." },
  host_us: { unit: "us", text: "Time of the evaluations, without those nested in them." },
  device_us: { unit: "us", text: "Device work launched inside them." },
} as const;

export const NodeUse = {
  id: { text: "Row of the report's nodes." },
  count: { unit: "count", text: "Evaluations." },
  host_us: { unit: "us", text: "Time of these, each less those nested in it." },
  device_us: {
    unit: "us",
    text: "The module's own work that was launched inside; work that recomputes the module in a node of another module is here, that node is not.",
  },
  self_count: { unit: "count", text: "Evaluations that belong to the module itself." },
  self_host_us: { unit: "us", text: "The same of these." },
  self_device_us: { unit: "us", text: "Device work of the module itself launched inside." },
} as const;

export const NodeUseOmitted = {
  names: { unit: "count", text: "Names of nodes." },
  count: { unit: "count", text: "Evaluations." },
  host_us: { unit: "us", text: "Time of these, each less those nested in it." },
  device_us: { unit: "us", text: "Device work of the module launched inside." },
  self_count: { unit: "count", text: "Evaluations that belong to the module itself." },
  self_host_us: { unit: "us", text: "The same of these." },
  self_device_us: { unit: "us", text: "Device work of the module itself launched inside." },
} as const;

export const Operator = {
  calls: {
    unit: "count",
    text: "Rows of that name. A row whose only row inside has its own name is one call with it.",
  },
  host_us: {
    unit: "us",
    text: "Sum of their durations, over threads: calls that run at once may add up to more than the clock shows. A call inside another one of the same row adds nothing to this and the other totals, where `key_averages()` counts it for each level.",
  },
  self_host_us: {
    unit: "us",
    text: "Less the operators, annotations and calls of the device's runtime inside. Marks and Python frames inside are not subtracted.",
  },
  device_us: {
    unit: "us",
    text: "Device work launched inside. Null, as those below, without launches, and where a call launched into the capture of a graph: that work runs where graphs are replayed.",
  },
  self_device_us: {
    unit: "us",
    text: "The part of it that no operator or annotation further in launched.",
  },
  tensor_core_eligible: {
    text: "Whether tensor cores could serve it: it is in the list of `kinds.py`, it launched a kernel on them, or an operator inside is eligible.",
  },
  tensor_core_us: {
    unit: "us",
    text: "The part of `device_us` on tensor cores, by the kernels' names.",
  },
  self_tensor_core_us: { unit: "us", text: "The part of `self_device_us` on tensor cores." },
  flops: {
    unit: "flop",
    text: "FLOPs by the shapes of the inputs, of the calls with a formula (matrix products, convolutions, attention), or of such calls inside; each once. Calls do not count of whose device events, or their launches, the trace lacks some. Null where no shapes are in the trace, or no formula fits.",
  },
  flops_us: {
    unit: "us",
    text: "Device time of these calls; in a trace of a CPU their host time. Null where a device ran them that was not recorded.",
  },
  tflop_per_s: { unit: "TFLOP/s", text: "FLOPs over the time of these calls, `flops_us`." },
  peak_share: {
    unit: "fraction",
    text: "Time that these FLOPs take at the peak of the device for their types, over `flops_us`. Null where the peak is not in `peaks.json`.",
  },
  flop_per_byte: {
    unit: "flop/byte",
    text: "FLOPs over the bytes of inputs and results, each counted once: the most the intensity can be, as kernels may move them again.",
  },
} as const;

export const OutOfMemory = {
  time_us: { unit: "us", text: "When it failed, on the trace's own clock." },
  requested_bytes: { unit: "bytes", text: "Bytes asked for." },
  allocated_bytes: { unit: "bytes", text: "Bytes in use on the device at that moment." },
  reserved_bytes: { unit: "bytes", text: "Bytes that the allocator held." },
} as const;

export const Pair = {
  change: { text: "`other` less `base`; what is on one side alone costs nothing on the other." },
} as const;

export const Parameters = {
  count: { unit: "count", text: "Elements of the parameters of the module and those below." },
  bytes: { unit: "bytes", text: "Memory that they take." },
  self_count: { unit: "count", text: "Elements of the module's own." },
  self_bytes: { unit: "bytes", text: "Memory that these take." },
  trainable: { text: "Whether a parameter of the module itself requires a gradient." },
} as const;

export const PathKind = {
  device_us: { unit: "us", text: "Time of its device events in the replay." },
  path_us: { unit: "us", text: "Time of these on the critical path." },
  slack_us: {
    unit: "us",
    text: "Time per step by which they may take longer, wherever, with the step as long: the least slack of any of them in all steps, divided by their number. Null where nothing that is measured waits for them.",
  },
} as const;

export const PathModule = {
  module: { text: "Path of the module; null for what is not in a module." },
  path: {
    text: "Its time on the critical path; of all modules, and the rest, that adds up to the step.",
  },
  slack_us: {
    unit: "us",
    text: "Time per step by which it may take longer, wherever in it, with the step as long: the least slack of its device events and its host time in all steps, divided by their number. Null where nothing that is measured waits for it.",
  },
} as const;

export const PathTime = {
  host: { unit: "us", text: "A host thread ran: Python, operators, calls that launch." },
  device: { unit: "us", text: "A device event ran that is not a collective's." },
  communication: {
    unit: "us",
    text: "A collective ran on a device, or other ranks had not come to one: before it began there, or while a host thread waited for one that the host runs (gloo).",
  },
  wait: {
    unit: "us",
    text: "Latencies: from launch to start, between device events, from stream to stream, and from the end of a device event to the return of the sync that waited for it.",
  },
  data: { unit: "us", text: "The host was in a data loader." },
  unexplained: {
    unit: "us",
    text: "Delays that no dependency in the trace explains; they are kept as recorded.",
  },
} as const;

export const PathWork = {
  part: { text: "What passed the time, as the fields of `PathTime`." },
  phase: { text: "Phase of the host, or of the launch of a device event; null in none." },
  name: {
    text: 'Kind of the device events; "kernel loading", in whatever phase, as it happens once, and "profiler" while it makes room for what it records ("Activity Buffer Request") or is slow to launch the first kernel (see `Step.idle`); of the host outside of phases the innermost operator, annotation, module or Python function that holds four fifths of the time, and within a phase the same where the thread runs no operator for a millisecond or more, from 5% of the host\'s time on. Null where nothing has a name, and for what is too short to be listed.',
  },
  us: { unit: "us", text: "Mean over the measured steps; all rows add up to the step." },
} as const;

export const PerStep = {
  steps: { unit: "count", text: "Steps that the means are over." },
  of: { unit: "count", text: "Steps of the trace." },
  marked: {
    text: "Whether the trace shows steps, by `ProfilerStep#N`, rows of `Optimizer.step`, equal annotations in which all operators of a thread lie, or repetition of its operators; else its one step is the whole trace.",
  },
  chosen: { text: "Whether the steps were named." },
  text: {
    text: "Which steps the means are over, why others are left out, and how many of them have no backward pass or optimizer step, which others have.",
  },
  duration_us: {
    unit: "us",
    text: "Length of a step on the host; null, as all others, without steps.",
  },
  forward_us: {
    unit: "us",
    text: "Host time, as `steps[].forward_us`; the phases that are known sum to `duration_us`.",
  },
  backward_us: { unit: "us", text: "Host time, as `steps[].backward_us`." },
  optimizer_us: { unit: "us", text: "Host time, as `steps[].optimizer_us`." },
  data_us: { unit: "us", text: "Host time, as `steps[].data_us`." },
  other_us: { unit: "us", text: "Host time, as `steps[].other_us`." },
  device_busy_us: {
    unit: "us",
    text: "Time in which a device did any work, summed over the devices.",
  },
  device_idle_us: { unit: "us", text: "Time in which it did none, summed over the devices." },
  idle: { text: "`device_idle_us` by its cause." },
  device_us: {
    unit: "us",
    text: "Sum of the durations of device events; see `steps[].device_us`.",
  },
  backward_device_us: { unit: "us", text: "The part of it launched in the backward phase." },
  forward_device_us: { unit: "us", text: "The part of it launched in the forward phase." },
  optimizer_device_us: { unit: "us", text: "The part of it launched in the optimizer phase." },
  communication_device_us: {
    unit: "us",
    text: "The part of it that is communication, whether or not computation overlaps it.",
  },
  device_us_by_kind: { unit: "us", text: "All of it by kind; kinds without any are left out." },
  sync_count: {
    unit: "count",
    text: "Syncs, without the profiler's own. Null as `totals.sync_count`.",
  },
  sync_blocked_us: { unit: "us", text: "Sum of their durations." },
  communication_wait_us: { unit: "us", text: "Host time, as `steps[].communication_wait_us`." },
  unplaced_graph_us: { unit: "us", text: "Device time, as `totals.unplaced_graph_us`." },
} as const;

export const Pipeline = {
  ranks: { text: "Ascending; one stage each, or several where stages are interleaved." },
  microbatches: {
    text: "Forwards of a rank per step, by the ranges of its schedule (`Forward 3`, `PP:0F3`, `forward-compute`), else by its messages in a chain of ranks: a message each way for each microbatch. With v stages per rank v for each microbatch. Null for unknown.",
  },
  bubble: {
    unit: "fraction",
    text: "Time per step in which a rank does nothing but wait in messages, over the step; mean of the ranks.",
  },
  ideal_bubble: {
    unit: "fraction",
    text: "(p - 1) / (m + p - 1) of p ranks and m `microbatches`: what even stages leave idle in GPipe's schedule and 1F1B, in a step of nothing else. Null where m is unknown.",
  },
  bubbles: { unit: "fraction", text: "`bubble` of each rank." },
  compute_us: { unit: "us", text: "As in `ranks`, of each rank: stages are even where these are." },
} as const;

export const PlacedTime = {
  host_us: { unit: "us", text: "Host time of the calls." },
  placed_host_us: { unit: "us", text: "The part of it that our recorder's map places on modules." },
  leaf_host_us: {
    unit: "us",
    text: "The part of `placed_host_us` of modules without modules below them.",
  },
  split_host_us: {
    unit: "us",
    text: "The part of `placed_host_us` that was split among several modules, by the bytes that the part of each one reads and writes.",
  },
  near_host_us: {
    unit: "us",
    text: "The part of `placed_host_us` whose module the compiler lost, and neighbours in the graph named.",
  },
  device_us: { unit: "us", text: "Device work launched in the calls, recomputation left out." },
  placed_device_us: { unit: "us", text: "The part of it that the map places on modules." },
} as const;

export const Rank = {
  start_us: {
    unit: "us",
    text: "First moment of its trace, on its own clock: its timeline counts from there.",
  },
  steps: { unit: "count", text: "Measured steps." },
  step_us: {
    unit: "us",
    text: "A step by the slower of host and device, as `verdict.step_us` of the rank's own report; on the host's clock where that is null, on the device's where it is far behind, as `duration_us` of `rank_steps`. Null without a measured step, as what follows.",
  },
  compute_us: {
    unit: "us",
    text: "Something ran that is no collective: on a device (copies and sets too, which the compute time of `devices` leaves out) or, without one, an operator or a compiled graph. Null where only other ranks' traces show device events.",
  },
  communication_us: {
    unit: "us",
    text: "A collective ran, waiting for other ranks included. Null, as the next, where the trace of one of several ranks shows no collective at all.",
  },
  exposed_communication_us: { unit: "us", text: "The part of it in which nothing computed." },
  idle_us: {
    unit: "us",
    text: "Nothing computed and no collective ran. Null where only other ranks' traces show any collective.",
  },
  wait_us: {
    unit: "us",
    text: "Waiting for other ranks in matched collectives: durations beyond the shortest of the ranks. Time in which its kernel ran on after the last rank had come and the others had left is no wait, if the clocks agree within 1 ms and it is over 0.1 ms and over ten times their spread. Time in which it waited in several at once counts once; a delay for which it waits in one after the other counts in each, unlike in `wait_caused_us` of a straggler. Of messages that name no ranks (gloo's): what they took beyond the least of all ranks in the step. Null where nothing is matched; a step none of whose collectives is matched is not in the mean.",
  },
  clock_offset_us: {
    unit: "us",
    text: "By how much its clock is ahead of the first rank's: median difference of the ends of the collectives that both took part in. Null where no chain of collectives leads from one to the other.",
  },
  clock_spread_us: {
    unit: "us",
    text: "How far that is known: half of the narrowest range of four fifths of these differences, the largest on the way from the first rank.",
  },
} as const;

export const RankActivity = {
  lanes: { text: "Of the host and, where the trace has a device, of its devices." },
} as const;

export const RankGroup = {
  name: { text: "As the program described it, such as `mesh_tp`." },
  dimension: { text: "pipeline, tensor, data, context or expert." },
  ranks: { text: "Its ranks in this run, ascending." },
} as const;

export const RankPart = {
  own_start_us: { unit: "us", text: "When it came, on the clock of its own trace." },
  start_us: {
    unit: "us",
    text: "When it came, on the clock of the run's first rank, since the start of what is shown.",
  },
  wait_us: {
    unit: "us",
    text: "How long it waited for the straggler, as in `ranks`; the transfer follows.",
  },
  late: { text: "Whether it came last." },
} as const;

export const RankStep = {
  start_us: { unit: "us", text: "On the clock of the rank's own trace." },
  duration_us: {
    unit: "us",
    text: "From the start of a measured step on the host to that of the next one. Where the device takes longer for the measured steps than the host, or is behind it by over a fifth of a mean step at the ends of all, each lasts from the end of its work for the step before to the end of that for this one.",
  },
  compute_us: { unit: "us", text: "As in `ranks`." },
  communication_us: { unit: "us", text: "As in `ranks`." },
  exposed_communication_us: { unit: "us", text: "As in `ranks`." },
  idle_us: { unit: "us", text: "As in `ranks`." },
  wait_us: {
    unit: "us",
    text: "As in `ranks`, of collectives that the step launched, though they begin after it; of those that began in it where launches are unknown, or hosts run them. Null where it has some and none of them is matched.",
  },
  counts: { text: "Whether it is one of the measured steps that means of the rank are over." },
} as const;

export const ReadingProgress = {
  stage: {
    text: '"waiting", "downloading", "decoding", "columns", "attribution", "done"; of a run "ranks".',
  },
  done: { unit: "fraction", text: "Of the stage." },
  bytes: { unit: "bytes", text: "Bytes of the file that were read, as it lies on the disk." },
  events: { unit: "count", text: "Events that were read." },
} as const;

export const Recorder = {
  version: { text: "Version of the marks' format; the latest of those in the trace." },
  markers: {
    text: "The `markers` options that modules were wrapped with, from the manifest; empty without one.",
  },
  own_host_us: {
    unit: "us",
    text: "An estimate: for each kind, the marks counted times the host time that one of them cost, which the recorder measured during the recording and left in the manifest (`cost_us`, a median). Null where the manifest has none for a kind that is there.",
  },
  own_share: {
    unit: "fraction",
    text: "`own_host_us` divided by the summed `duration_us` of the selected steps. Marks on threads that ran at the same time are all counted, though not each of them makes a step longer. The profiler's own cost is not in it.",
  },
} as const;

export const Recording = {
  unrecorded_step_us: {
    unit: "us",
    text: "Median of the steps that were not recorded and ended before this file was written; null without one, as where the schedule's `wait` is below 2.",
  },
  recorded_step_us: {
    unit: "us",
    text: "Median of the steps that were recorded into this file; null without one.",
  },
  slowdown: {
    unit: "times",
    text: "`recorded_step_us` divided by `unrecorded_step_us`; null where one of them is, and where `unrecorded_steps` is below 2: a single step may be one that warms up or compiles.",
  },
  unrecorded_steps: { unit: "count", text: "Steps of which `unrecorded_step_us` is the median." },
  recorded_steps: { unit: "count", text: "Steps of which `recorded_step_us` is the median." },
} as const;

export const ReportData = {
  schema: { text: "Version of the report's form; one version only gains fields." },
  modules: { text: "Parents before children, each root's tree in `named_modules()` order." },
  allocations: { text: "By name, most expensive first." },
  critical_path_work: {
    text: "The critical path of the measured steps by what ran, the longest first; empty where the steps are not replayed, or the device ran earlier work for long. At most 30 rows by name; the others are summed up by part and phase.",
  },
  recorder: { text: "Null where the trace holds no marks of our recorder." },
  kernels: {
    text: "Device work by name and kind, most expensive first; copies and sets are rows too. At most 500 rows.",
  },
  kernels_omitted: {
    text: "Sum of the rows that `kernels` leaves out; null where the table is complete.",
  },
  operators: {
    text: "`cpu_op` and `user_annotation` rows by name, most expensive first. Steps and our recorder's marks are left out. At most 1000 rows.",
  },
  breakdown: {
    text: "Steps in order. Steps at the end whose device work the trace does not hold, or less than 80% as many device events as of the step before, are left out; all, where a device ran and was not recorded.",
  },
  streams: { text: "By device, busiest first." },
  threads: {
    text: "Threads of the host on which operators, annotations or calls of the device's runtime began, busiest first; what runs on no thread of the forward or the backward (the collectives' and loaders' own) is here too. Rows among a device's streams that mirror calls are not threads.",
  },
  memory_peaks: {
    text: "Of each device that of the whole trace, then those of the selected steps. Empty where the trace was recorded without `profile_memory`, or by torch 1.9 and before, which wrote no totals.",
  },
  memory_modules: { text: "By device, most bytes at the peak of the selected steps first." },
  memory_operators: {
    text: "By device, most bytes allocated by the operator itself first. At most 1000 rows.",
  },
  out_of_memory: { text: "Allocations that failed, in order of time." },
  compiled: {
    text: "Null where no compiled graph was called, or the trace has no map of our recorder's.",
  },
  compiled_regions: { text: "Most expensive first; at most 500 rows." },
  device_advice: {
    text: "What to do where the trace has no device events: record them, or what to change on the CPU; null with device events, and where nothing can be said.",
  },
} as const;

export const ReportRows = {
  offset: { unit: "count", text: "Rows before these." },
  total: { unit: "count", text: "Rows of the table." },
  rows: { text: "As many as a megabyte holds." },
} as const;

export const RuleInfo = {
  title: { text: "The problem, as a phrase that stands by itself." },
  visible: {
    text: "Whether a trace can show it; if not, it appears as advice under other findings.",
  },
  matches: { text: "Condition on a trace under which it holds, in words." },
  fix: { text: "The fix, in whole sentences." },
  advice: { text: "Ids of rules that no trace shows and that belong under this one's findings." },
} as const;

export const Run = {
  world_size: { text: "As the traces say; null where none does, or they differ." },
  stragglers: {
    text: "Every one in order, each found with those before it fixed; of too few steps to rule out chance the latest alone. Empty where no rank is late in most steps.",
  },
  groups: {
    text: "Those with collectives in the traces; empty where no description names a dimension.",
  },
  pipelines: { text: "Empty where no rank has messages from point to point." },
  missing_ranks: { text: "Ranks below the world size that have no trace here." },
  unmatched: { unit: "count", text: "Collectives of single ranks without a counterpart." },
  clock_spread_us: {
    unit: "us",
    text: "Uncertainty of the ranks' clocks: half of the narrowest range of four fifths of the differences, of the worst rank; null with one rank, or where they share no collective.",
  },
  replay_error: {
    unit: "fraction",
    text: "By how much the replay of the run as it was differs from its recorded length; null where no straggler's gain was replayed.",
  },
  suspect: {
    text: "A rank that is late in all measured steps, by 3% of a step or more on average, in too few steps to rule out chance: the first of `stragglers`, or where that is late in the only step, as late there as another. Null where there is none, or a straggler beyond chance.",
  },
  suspect_wait_us: {
    unit: "us",
    text: "How much longer the ranks that share collectives with `suspect` wait than it does, mean per step; one delay counts once, as in its `wait_caused_us`. Null without one.",
  },
  marked: {
    text: "Whether a trace marks steps; else each trace is one step, and times per step are of it.",
  },
} as const;

export const RunOverview = {
  nothing: {
    text: "What is to be recorded where the run says nothing about ranks; null where it does.",
  },
  world_size: { text: "As the traces say; null where none does, or they differ." },
  ranks: { text: "Numbers of the ranks, as all columns of ranks are ordered." },
  workers: { text: "Worker of each rank, as `api/runs` names it." },
  start_us: { unit: "us", text: "First moment of each rank's trace, on its own clock." },
  marked: { text: "As of `hookview ranks`: whether a trace marks steps." },
  step_us: {
    unit: "us",
    text: "Mean duration of a step over the ranks; null without one that counts, as what follows.",
  },
  wait_us: { unit: "us", text: "Mean time per step in which a rank waited for others." },
  sentence: { text: "What holds up the run: its first straggler, else how a step is spent." },
  compute_us: {
    unit: "us",
    text: "Mean over the ranks of `compute_us` per step, as what follows.",
  },
  exposed_communication_us: { unit: "us", text: "Communication in which nothing computed." },
  idle_us: { unit: "us", text: "Nothing computed and no collective ran." },
  steps: { text: "Names of all steps, in their order." },
  stragglers: { text: "As of `hookview ranks`: each found with those before it fixed." },
  pipelines: { text: "The first of those of the run." },
  edges_us: {
    unit: "us",
    text: "Edges between which collectives are counted: each the same multiple of the one before.",
  },
  kinds: { text: "Those that took longest first." },
  sizes: { text: "Most frequent first." },
  sizes_left_out: { unit: "count", text: "Sizes after the last one here." },
  collectives: { unit: "count", text: "Collectives that were matched." },
  unmatched: { unit: "count", text: "Collectives of single ranks without a counterpart." },
  missing_ranks: { text: "The first of those below the world size that have no trace here." },
  missing: { unit: "count", text: "All of them." },
  unreadable: { text: "The first of the traces that cannot be read." },
  unreadable_traces: { unit: "count", text: "All of them." },
  clock_spread_us: {
    unit: "us",
    text: "Uncertainty of the ranks' clocks, as in `hookview ranks`.",
  },
} as const;

export const Runs = {
  dry_run: { text: "Name of the dry run that is served in the place of traces." },
} as const;

export const SearchResult = {
  total: { unit: "count", text: "Events found in the window, those beyond `hits` included." },
  hits: { text: "The first 500 by start." },
  density: {
    unit: "count",
    text: "Events that begin in each of `width` equal parts of the window; sums to `total`.",
  },
} as const;

export const Side = {
  steps: { unit: "count", text: "Steps that its means are over; see `per_step`." },
  of: { unit: "count", text: "Steps of the trace." },
  text: { text: "`per_step.text`: which steps its means are over, and why others are left out." },
  marked: { text: "Whether the trace marks steps; else its numbers are of all of it." },
  bound: {
    text: "`verdict.bound`. Where it is `unknown` on one side alone, as for a bare recording on a CPU, fewer rules apply to that side: not all findings that appear are new.",
  },
  warnings: {
    text: "What makes its figures wrong: the trace's warnings of high severity, in short.",
  },
} as const;

export const Site = {
  frame: { text: "The innermost frame that is not torch's own, `file.py(line): function`." },
} as const;

export const SlowRank = {
  part: { text: "As in `causes`." },
  excess_us: { unit: "us", text: "By how much more than the median of the other ranks, per step." },
  windows: { unit: "count", text: "Parts of the run in which it did." },
  of_windows: { unit: "count", text: "Parts of the run that were compared." },
} as const;

export const SlowSteps = {
  lasting: {
    text: "Whether the length of a step rose and stayed so, until it was back or rose further.",
  },
  steps: { unit: "count", text: "Slow steps among them; all, where it lasted." },
  step_us: { unit: "us", text: "Median duration." },
  median_us: { unit: "us", text: "The median that they are compared with." },
  excess_us: { unit: "us", text: "Time beyond that median, all of them together." },
  causes: { text: "What took longer, the most expensive first." },
  recording_id: {
    text: "The recording of the steps, else the nearest one before or after them whose file is there; of the rank that took longest, where that one made it. Null without any.",
  },
} as const;

export const Spread = {
  median_us: { unit: "us", text: "Median over the steps." },
  min_us: { unit: "us", text: "The least of a step." },
  max_us: { unit: "us", text: "The most of a step." },
} as const;

export const SpreadPair = {
  base: { text: "Null where a step does not hold the number." },
  within_noise: {
    text: "Whether the median of each side lies in the range of the other, so that the difference may be noise. Null where a side has fewer than two steps.",
  },
} as const;

export const SqlAnswer = {
  rows: { text: "One list of values for each row; a decimal number is a number here." },
  total: { unit: "count", text: "Rows of the query; null where it has more than were counted." },
} as const;

export const SqlColumn = {
  type: { text: 'As Arrow writes it: "string", "int64", "double", ...' },
} as const;

export const SqlTables = {
  missing: { text: "How to get what answers queries; null where it is installed." },
} as const;

export const StageWork = {
  stage: {
    unit: "count",
    text: "As the schedule numbers it (`PP:2F0`), else the place of its rank in the pipeline; from 0.",
  },
  direction: { text: "forward or backward: the pass in which they take longer." },
  microbatches: {
    text: "Numbers within the step, from 0: those of a quarter of the largest excess or more.",
  },
  of_microbatches: { unit: "count", text: "All of that pass in a step." },
  time_us: { unit: "us", text: "Host time of one of them without waits for messages, the median." },
  usual_us: { unit: "us", text: "The lower median of what one takes the other stages." },
} as const;

export const Step = {
  start_us: { unit: "us", text: "Start of the step, on the trace's own clock." },
  duration_us: {
    unit: "us",
    text: "Length of the host row `ProfilerStep#N`, less `left_out_us`. Without any, an iteration ends with the optimizer's step and the next begins there: with the last, where several follow one backward pass, or where as many gradients are accumulated before every k-th alone, as in a GAN. An iteration that a gradient scaler skips, as its check and gradients zeroed before a step used them show, ends with its backward pass. Without optimizers too, iterations are annotations of one name, each up to the next, in which all operators of a thread lie, or all from the first one on if a backward pass runs in each; else a sequence of operators with a backward pass that a thread repeats from its first operator to its last, without those that read values. The last of these ends with its operators where it has as many as another one and, by the median, less than 5% of an iteration lies between two; else it is no step, as its end is not in the trace. A trace with none of these is one step.",
  },
  forward_us: {
    unit: "us",
    text: "Time in no other phase but `other` and inside a module's call (annotations do not count), or inside an operator that made an autograd node or holds one that did. Without sequence numbers (torch 1.7): from the first operator with the name of a node to the backward pass, on its thread; a name counts where as many operators as nodes of the pass have it. So is time inside a range by which a pipeline marks a forward (`attn(F)`, `forward-compute`, `Forward 3`, `PP:0F3`), where it marks the backward as well, and inside the ranges of DistributedDataParallel's and FSDP's forward. Null where the trace shows no forward at all, or by names not all of it: that time is in `other_us`.",
  },
  backward_us: {
    unit: "us",
    text: "Time in which any thread evaluated an autograd node (with the sums of gradients that the engine runs between nodes, also where the trace has no `evaluate_function` rows around them), or was in a range by which a pipeline marks a backward (`attn(B)`, `mlp(W)`, `backward-compute`), or in FSDP's after the last node (`FSDP::root_post_backward_callback`). Null, as the next two, where the trace has no operators, annotations or modules that would show a phase. Null too, as `forward_us` and `optimizer_us`, where it would be 0 and a graph that is replayed in the step may hold the phase (`totals.unplaced_graph_us`).",
  },
  optimizer_us: {
    unit: "us",
    text: "Time in no backward in which parameters were updated: gradient scaling and clipping (our recorder's `call` marks), `step`, `zero_grad` (torch's `Optimizer.*` annotations), fused updates outside of these (`aten::_fused_adamw_`), and a compiled region that holds an update (`aten::_foreach_addcdiv_` too), but no forward, node or replayed graph. To multiply the loss by the scale is part of the forward, whose graph it adds to. Null where gradients are accumulated and the trace has none of these: an update of one's own is in `other_us`.",
  },
  data_us: { unit: "us", text: "Time in neither of these inside `DataLoader` annotations." },
  other_us: { unit: "us", text: "The rest of the step." },
  device_busy_us: {
    unit: "us",
    text: "Length of the union of a device's work, clipped to the step on the host and summed over the devices that did any work.",
  },
  device_idle_us: {
    unit: "us",
    text: "The step's duration times these devices, less `device_busy_us`.",
  },
  sync_blocked_us: {
    unit: "us",
    text: "Time in which some host thread was in a sync, the profiler's own left out. Null as `totals.sync_count`.",
  },
  idle: { text: "`device_idle_us` by its cause." },
  queue_full_us: {
    unit: "us",
    text: "Time in which a launch waited for room in a device's full queue: at least 900 launches of that device had not begun, and the call lasted over 20 times the median of its name, or, with as many ahead as 97% of the most that ever were, over 5 times the median of its name with fewer ahead. The device limits the step then, not the host: it is in no `sync_*`. Null without launches.",
  },
  backward_idle_us: {
    unit: "us",
    text: "The part of `device_idle_us` during which some thread evaluated a node: a device may still be busy with the forward then, or go on with the backward later. Null as `backward_us`.",
  },
  counts: {
    text: "Whether it is one of the steps of `per_step` and of the means in findings: every selected step; of a whole trace all but the first, which warms up, those that launched nothing, a last one without a backward pass, which all others have, and those at the end whose device work the trace lacks, as `breakdown` leaves them out; all, where that leaves none. The one step of a trace of a device alone counts if the device did anything.",
  },
  device_us: {
    unit: "us",
    text: "Sum of the durations of the device events that were launched in the step. It may exceed the step: streams run at the same time, and devices run on when the host is done. Null without device events.",
  },
  launched_before_count: {
    unit: "count",
    text: "Device events that began in the step and were launched before the trace began. They are in the step's busy time, but in none of its sums over device events. Null without launches.",
  },
  launched_before_us: { unit: "us", text: "Sum of their durations." },
  communication_wait_us: {
    unit: "us",
    text: "Time in which the training thread waited for a collective that the host runs (gloo, MPI, UCC): from its last row to the collective's end, where it goes on soon after and is in no operator that computes. It is in `backward_us`, `other_us` or another phase already. Waits for collectives of a device are syncs. Null as `data_us`.",
  },
  left_out_us: {
    unit: "us",
    text: "Time at the ends of the host row that is the recording's, and in no figure of the step: up to the end of a synchronize that waits for work from before the recording, as a device event without a launch shows, or as it is of the whole device, took most of the row, and ended before the first launch; from the profiler's own as it stops; and, without Python stacks, after the last row of the last step, if nothing is recorded there for ten times as long as at the end of any other step, and 1 ms longer.",
  },
} as const;

export const StepMatrix = {
  offset: { unit: "count", text: "Steps before the first one here." },
  left_out: { unit: "count", text: "Steps after the last one here." },
  values: {
    unit: "us",
    text: "By quantity: for each step one value for each rank, in the order of `ranks` of the run; null where the rank's trace has no such step.",
  },
} as const;

export const Straggler = {
  wait_caused_us: {
    unit: "us",
    text: "How much longer the ranks that share collectives with it wait than it does, mean per step. One delay counts once: where no host waits for its device, a straggler is as late at the next collectives too; a rank that comes early, where most of the others come together, waits for none of them. With the stragglers before it fixed, by a replay of all ranks.",
  },
  share: { unit: "fraction", text: "That over the mean of the steps that are compared." },
  steps: { unit: "count", text: "Steps in which it is late, by the same." },
  of_steps: { unit: "count", text: "Steps that were compared." },
  module: { text: "Module on which it spends most of the excess; null where it is no module." },
  reason: {
    text: "module, data, optimizer, sync, host or device, of most of the excess; null for unknown.",
  },
  excess_us: {
    unit: "us",
    text: "Time it spends on that beyond the lower median of the others, per step; null for unknown.",
  },
  reasons: {
    text: "All that it spends more time on, the largest first, from 1% of `wait_caused_us` on; none where that is less than a quarter of it.",
  },
  stage: {
    text: "On which microbatches, of a stage of a pipeline on the CPU; null where none of its passes explains a quarter of what it spends more time on.",
  },
  gain_us_per_step: {
    unit: "us",
    text: "How much shorter a step is without all of that, with the stragglers before it fixed too, by a replay of all ranks: each one's own work takes as long as recorded, less the excess, and every collective ends its transfer after the last rank came. Where messages name no ranks: by how much it is later than the next, as far as the excess explains it.",
  },
  left_step_us: { unit: "us", text: "Mean step that is left with it and those before it fixed." },
  finding: {
    text: "The rule that explains most of that: by which findings about that module, or about the reason where that is no module, cost this rank more than the lower median of other ranks, three at most. Of a straggler by its host that is the devices' idle time, of one by its device the work that could be avoided. Null where that is less than a quarter of `wait_caused_us`.",
  },
  sure: {
    text: "Whether that is more than chance; else it is late in all of `of_steps`, which are too few to rule chance out. A single step never is enough.",
  },
} as const;

export const StragglerReason = {
  reason: { text: "module, data, optimizer, sync, host or device." },
  module: { text: "Path of the module; null where it is no module." },
  phase: {
    text: "forward or backward: in which of the two most of that time is; null where it is no module.",
  },
  excess_us: {
    unit: "us",
    text: "Time beyond the lower median of the others, per step; between collectives on a device no more than what passed since all had left the last one. Of a device no more than since the step's first collective: what the others ran while they waited in one takes them as long.",
  },
} as const;

export const Stream = {
  stream: {
    text: "Its name; a lane where torch drew the events of CUDA graphs on lanes (`graph_lanes`), each with the stream that it ran on as its argument `original_stream`.",
  },
  count: { unit: "count", text: "Device events." },
  busy_us: { unit: "us", text: "Time in which any work ran." },
  host_us: {
    unit: "us",
    text: "Gaps before events launched after the gap began. Null, as all below, without any launch.",
  },
  kernel_us: {
    unit: "us",
    text: "Gaps shorter than 30 us before events that were launched before the gap began.",
  },
  other_us: {
    unit: "us",
    text: "The other gaps: longer ones, and those before events whose launch is not known.",
  },
  queue_mean: {
    unit: "count",
    text: "Device events launched on the stream that have not begun, mean over time. One more with the start of each launch, one less with each start of work.",
  },
  queue_max: { unit: "count", text: "The most of them there were." },
} as const;

export const Sync = {
  event_id: { text: "The call that held the longest part of the wait." },
  api: { text: "Name of the call that held the longer part." },
  start_us: {
    unit: "us",
    text: "Start of the first call. Of a wait whose own call is not in the trace, before `cudaEventElapsedTime`: end of the thread's row before.",
  },
  duration_us: {
    unit: "us",
    text: "To the end of the last call; of a wait whose own call is not in the trace, to the start of `api`; of one that frees memory, to the end of what it waited for.",
  },
  phase: { text: '"forward", "backward", "optimizer", "data" or "other".' },
  operator_id: { text: "Event of the call of the operator." },
  node_id: { text: "Event of the node's evaluation." },
  cause: {
    text: "Id of the first rule, in their order of priority, that explains the sync; `profiler` for the profiler's own call as it starts or stops. `sync-explicit` is where no operator asked for it, `sync-in-operator` where one did and no other rule fits.",
  },
  device_idle_us: {
    unit: "us",
    text: "Device idle time that the sync caused, summed over the devices. With [s, e] the sync, g1 the device's first work whose launch began at or after e, and g0 the end of the device's work before g1: the time from max(s, g0) to g1, less the launch latency, and no more than the sync was long (without it the host could be no further ahead). In a report of some steps: what of it lies in these.",
  },
  gap_ids: {
    text: "Idle gaps that the sync caused, rows of the table `gaps`; their durations sum to `device_idle_us`.",
  },
  stack: {
    text: "Python frames around the call, innermost first; in the backward pass those around the forward operator. Empty where the trace holds none.",
  },
  waited_for: {
    text: "Of a copy that waits, or a launch that waits for what it launched: the work before it on its stream, or that copy or work itself, whichever took the longer part. Of any other: the work launched before that ended last before the sync returned. Null where none ended within the sync.",
  },
  waited_us: {
    unit: "us",
    text: "The part of `duration_us` until the work that was launched before had ended. Null where no device events were recorded.",
  },
  transfer_us: {
    unit: "us",
    text: "The part of the rest in which the sync's own copy ran, also after its call had returned, or what a launch that waits for it launched. What is left is calling, staging, returning: the host's own. Null where no device events were recorded.",
  },
} as const;

export const SyncChange = {
  count: { unit: "count", text: "Syncs." },
  blocked_us: { unit: "us", text: "Sum of their durations." },
  device_idle_us: { unit: "us", text: "Device idle time that they caused." },
} as const;

export const TableColumn = {
  type: { text: '"text", "integer", "number", "boolean" or "json".' },
} as const;

export const TablePage = {
  key: { text: "Column that names a row, as columns that end in `_id` refer to it." },
  total: { unit: "count", text: "Rows that the filters leave." },
  offset: { unit: "count", text: "Rows of these before the first one here." },
  left_out: { unit: "count", text: "Rows of these after the last one here." },
  rows: { text: "Values by column; null where the trace does not hold one." },
} as const;

export const Thread = {
  thread: { text: "Its name, or its number where it has none; as `syncs[].thread`." },
  process: { text: "Number of its process." },
  role: {
    text: "Of the whole trace, the first of these that holds: `forward` (steps are marked on it, or forward work ran on it outside of nodes: the loop's own thread), `backward` (it evaluated nodes), `data` (a `DataLoader` annotation, or a thread that torch names as one of its loader's), `other`.",
  },
  busy_us: {
    unit: "us",
    text: "Time in which any operator, annotation (no step's), call of a module (also by its Python frame) or of the device's runtime was open on it; of a selection of steps, clipped to them. Other Python is not in it: the frame of a thread's loop is open all the time.",
  },
  by_phase: {
    unit: "us",
    text: "`busy_us` by phase, as in `steps[]` but of this thread alone; sums to it. Time of a phase that is unknown there is in `other`.",
  },
  blocked_us: {
    unit: "us",
    text: "The part of it in which the thread was in a sync, the profiler's own left out. Null as `totals.sync_count`.",
  },
} as const;

export const TimelineLane = {
  depth: { unit: "count", text: "Rows that nest, 1 for none." },
  events: {
    unit: "count",
    text: "Events of the lane, or points of its curve; null for a lane that is made only when it is asked for by its id: its window alone shows them.",
  },
  thread: {
    text: "Name of the thread of the host, as in the report's rows; null where the lane is of none.",
  },
  thread_id: { text: "Id of that thread, as in the report's rows." },
  device: { text: "Id of the device as in the report's rows; null for a lane without." },
  stream: { text: "Stream of the device; null where the lane is of none." },
  stream_id: { text: "Id of that stream, as in the report's rows." },
  note: { text: "Why the lane shows nothing, as a phrase; null where it shows something." },
} as const;

export const TimelineOverview = {
  start_us: { unit: "us", text: "Start of the trace on its own clock, as in the report." },
  duration_us: { unit: "us", text: "From the first start to the last end of the trace's events." },
  events: {
    unit: "count",
    text: "Events of the file, of every phase (`ph`): rows, instants, arrows, names of threads.",
  },
  colours: { text: "Meaning of the colours of blocks." },
} as const;

export const TimelineWindow = {
  start: { unit: "us", text: "Start of the window." },
  end: { unit: "us", text: "End of the window." },
  width: {
    text: "Pixels to which blocks are merged; fewer than asked for where the answer would be larger than a megabyte.",
  },
} as const;

export const TopEntry = {
  kind: {
    text: "Kind of the lanes that show it: device work, operators, modules forward or backward.",
  },
  measure: { text: "Whether it is host or device time." },
  count: { unit: "count", text: "Device events, calls, or (modules) device events or host rows." },
  total_us: {
    unit: "us",
    text: "Sum of their times in the window; of a module, including those below it.",
  },
  self_us: { unit: "us", text: "Less what is inside; null for device work." },
} as const;

export const Totals = {
  device_busy_us: { unit: "us", text: "By device: time in which it did any work." },
  backward_device_us: {
    unit: "us",
    text: "Device time of work launched in the backward phase. Null, as the next two, where the trace has no launches or no operators to know phases by, and where a step replays a graph in no known phase (`unplaced_graph_us`) that may hold the phase: nothing else of it was launched in that step (of a forward, or nothing of a backward).",
  },
  forward_device_us: {
    unit: "us",
    text: "Device time of work launched in the forward phase. Null where the trace does not show which of the work in no other phase is the forward's: no call of a module, no operator that made a node, nor (without sequence numbers) names for half of the nodes of each pass.",
  },
  optimizer_device_us: {
    unit: "us",
    text: "Device time of work launched in the optimizer phase, zeroing of gradients included. Null too where no optimizer is marked, as `steps[].optimizer_us`.",
  },
  sync_count: {
    unit: "count",
    text: "Syncs, the profiler's own included; not those left out of the only step of a trace that marks none (`steps[].left_out_us`). Null, as all of syncs, where no call of a device's runtime was recorded, unless the model ran on the CPU.",
  },
  sync_blocked_us: {
    unit: "us",
    text: "Sum of their durations. The time that the program was blocked is this less `profiler_sync_us`.",
  },
  backward_sync_count: { unit: "count", text: "Syncs in the backward phase." },
  device_wait_count: {
    unit: "count",
    text: "Calls that make a stream wait for an event (`cudaStreamWaitEvent` and its like): the device waits, the host goes on, and they are in no `sync_*`. Null as `sync_count`.",
  },
  queue_full_count: {
    unit: "count",
    text: "Launches that waited for room in a device's full queue.",
  },
  queue_full_us: { unit: "us", text: "Sum of their durations." },
  device_us_by_kind: {
    unit: "us",
    text: "Time of all device work of every phase by kind; kinds without any are left out.",
  },
  communication_device_us: {
    unit: "us",
    text: "The part of it that is communication; null, as the next two, without device work.",
  },
  tensor_core_us: { unit: "us", text: "The part of it that is known to have run on tensor cores." },
  tensor_core_unknown_us: {
    unit: "us",
    text: "The part of it that may have run on tensor cores: unknown from names.",
  },
  profiler_sync_count: {
    unit: "count",
    text: "The profiler's own syncs among `sync_count`, as it starts or stops; null where that is.",
  },
  profiler_sync_us: { unit: "us", text: "Sum of their durations." },
  sync_waited_us: {
    unit: "us",
    text: "The part of `sync_blocked_us` in which syncs waited for earlier work of the device. Null where no device events were recorded, and as `sync_count`.",
  },
  sync_transfer_us: {
    unit: "us",
    text: "The part of it in which their own copies ran, or what launches that wait for it launched. Null as `sync_waited_us`.",
  },
  forward_compute_us: { unit: "us", text: "`forward_device_us` without communication." },
  unplaced_graph_us: {
    unit: "us",
    text: "Device time of replayed graphs (CUDA, HIP) that were launched in no known phase: the trace does not hold the operators and modules that they were captured from. Null without launches.",
  },
} as const;

export const TraceInfo = {
  format: { text: 'Form of the file\'s root: "chrome-object" or "chrome-list".' },
  events: {
    unit: "count",
    text: "Events of the file, of every phase (`ph`): rows, instants, arrows, names of threads.",
  },
  start_us: { unit: "us", text: "On the trace's own clock." },
  duration_us: {
    unit: "us",
    text: "From the first start to the last end of the events of host and devices.",
  },
  recorder: { text: "The recorder's manifest (version, markers); null where it left none." },
  warnings: { text: "Those of high severity first." },
  recording: { text: "Null where the recorder timed no steps." },
} as const;

export const TraceWarning = {
  id: { text: "The code; `code#2` for the second of a code." },
  count: { unit: "count", text: "Number of times it was seen." },
  severity: {
    text: '"high" where it makes figures of the report wrong or leaves them out. `docs/explanation/reliability.md` lists the codes.',
  },
} as const;

export const Unplaced = {
  forward_host_us: { unit: "us", text: "Part of `forward.host_us` of the module." },
  forward_compute_us: { unit: "us", text: "Part of `forward.compute_us` of the module." },
  backward_host_us: { unit: "us", text: "Part of `backward.host_us` of the module." },
  backward_compute_us: { unit: "us", text: "Part of `backward.compute_us` of the module." },
  communication_us: {
    unit: "us",
    text: "Part of `communication_us` of the module, forward and backward together.",
  },
} as const;

export const Verdict = {
  bound: {
    text: 'The host and data loading take turns on one thread, as device and communication do where one needs the other. So `host_side_us` is compared with `device_side_us`. Where they are further apart than `margin_us`, and most of the critical path is not of the shorter side, the longer side decides, and of its two resources that without which the step is shortest (the longer one, where the other side is longer than each); data loading or communication where both save about as much, as these can overlap. Elsewhere it is `even`, also where the sides are up to a fifth apart ("nearly") or further, as neither decides alone. `unknown` where the replay is refused, the trace has no device events (unless the recorder or operators that exist for the CPU alone say that the model runs there), or unexplained delays are longer than each side.',
  },
  sentence: { text: "The same in at most 25 words." },
  step_us: {
    unit: "us",
    text: "A step as recorded, by the slower of host and device, as `step_us` of a what-if.",
  },
  host_us: {
    unit: "us",
    text: "A step with the host's own work alone: Python, operators, launches; syncs return at once. Where no step is marked, what it did before its first row in the trace is not known, and none of it.",
  },
  device_us: {
    unit: "us",
    text: "A step with the work of the devices alone but collectives; null without device events.",
  },
  communication_us: {
    unit: "us",
    text: "A step with collectives alone: their durations, which include waiting for other ranks, and the delays before them. Null without device events or collectives of the host (gloo).",
  },
  data_us: {
    unit: "us",
    text: "A step with the data loader's time on the host alone. Null as `steps[].data_us`.",
  },
  host_side_us: { unit: "us", text: "A step with the host's own work and data loading." },
  device_side_us: {
    unit: "us",
    text: "A step with device and communication; null where both are.",
  },
  margin_us: {
    unit: "us",
    text: "Difference of the two sides up to which they are even: 5% of the longer, or the part of it by which the replay with nothing changed is off, if that is more.",
  },
  once_us: {
    unit: "us",
    text: "Time of the host in the measured steps for what happens once: loading the code of kernels, or the first launch after the profiler started (see `idle.profiler`), and, in a trace without marked steps, the first and the last call of a loader with workers, if they hold nine tenths of the time in it and the others take under 5% of the rest of the trace. It is part of `step_us`, and of none of the lengths above. Null where they are.",
  },
  later_step_us: {
    unit: "us",
    text: "A step in the replay of which `findings[].unrecorded_gain_us_per_step` is a part: without what happens once and, where that is known, without what recording cost the host. Null where none of both is known to have taken time.",
  },
  unrecorded_step_us: {
    unit: "us",
    text: "A step in a replay without what recording cost the host: an estimate by the number of operators, their inputs (`record_shapes`), allocations (`profile_memory`), Python calls (`with_stack`) and calls of the device's runtime, at what each took with torch 2.13, scaled by how long the trace's cheapest operators took (the median of `aten::as_strided` and `detach`, of 16 or more), and by the time that the recorder measured for its marks. A Python call costs at most four times the median from one of their starts or ends to the next. Where the recorder timed two steps or more without recording (`trace.recording`), that cost is scaled so that the step is no shorter than the shortest of them and, on a CPU, no longer than the longest; to at most three times, and none of it passes later than 20 us after a row began and its cost was over: in a sleep, a wait or a long operator nothing is recorded. So the step is longer than the longest where these did less, or waited less. Null where that is unknown: without operators of torch, or with times in whole microseconds, as earlier profilers wrote them.",
  },
  unrecorded_bound: {
    text: "`bound` without that cost; null where the step is. Unknown where it would be communication, and `bound` is not: collectives are as recorded, with their waits for other ranks.",
  },
  unrecorded_sentence: {
    text: "What is different without that cost, where `bound` is or the step is 5% shorter.",
  },
} as const;

export const WaitedFor = {
  duration_us: { unit: "us", text: "Duration of the device event." },
} as const;

export const WatchedRank = {
  worker: { text: "First part of its files' names." },
  steps: { unit: "count", text: "Rows of its files." },
  measured_steps: {
    unit: "count",
    text: "Steps that medians are over: without recorded ones, their warm-up, the step after them, and the first five.",
  },
  phase_steps: {
    unit: "count",
    text: "Steps in which forward, backward and optimizer were timed: some of those below 10 ms.",
  },
  block_steps: {
    unit: "count",
    text: "Steps in which the blocks were timed: some of short ones, as it takes time.",
  },
  lost_lines: { unit: "count", text: "Lines that are no rows: of a write that broke off." },
  missing_steps: {
    unit: "count",
    text: "Numbers between its first and its last step without a row.",
  },
  blocks: { text: "Blocks of the model, in forward order." },
  step_us: {
    unit: "us",
    text: "Duration of a step; null without a measured step, as what follows.",
  },
  data_us: {
    unit: "us",
    text: "Waiting for a `DataLoader`; null where none was used, as with what follows.",
  },
  forward_us: { unit: "us", text: "In the model's own call." },
  backward_us: {
    unit: "us",
    text: "From the beginning of the backward pass to the last gradient of a block.",
  },
  after_backward_us: {
    unit: "us",
    text: "From there to the end of the pass: waiting for the gradients' reduction.",
  },
  optimizer_us: { unit: "us", text: "In optimizers' `step`." },
  gc_us: { unit: "us", text: "In garbage collections, mean per step." },
  memory_bytes: {
    unit: "bytes",
    text: "Most memory of its device, or of the process where it has none.",
  },
} as const;

export const WatchedRecording = {
  file: { text: "Name of the trace file." },
  kept: { text: "Whether the file is still there." },
  start: { text: "First step that is recorded." },
  steps: { unit: "count", text: "Steps that are recorded." },
  reason: { text: "What asked for it: start, slow, every, signal, file or call." },
  asked_by: { text: "Rank that asked." },
  ratio: {
    unit: "times",
    text: "How slow the steps were that asked, over the running median; 0 where another reason did.",
  },
} as const;

export const WhatIf = {
  step_us: {
    unit: "us",
    text: "A step as recorded, by the slower of host and device: from the end of the device's earlier work to the end of the last step's, or from the first step's start to the last one's end on the host, divided by the number of steps. Null where the replay is refused, as all that follows.",
  },
  replayed_us: {
    unit: "us",
    text: "The same in a replay with nothing changed; its distance from `step_us` is the error.",
  },
  predicted_us: { unit: "us", text: "The same with the change." },
  unrecorded_us: {
    unit: "us",
    text: "`replayed_us` without what recording cost the host, an estimate; null where that is unknown, as `unrecorded_step_us` of a verdict, and the next.",
  },
  unrecorded_predicted_us: { unit: "us", text: "`predicted_us` without that cost." },
  low_us: {
    unit: "us",
    text: "Lower bound of `predicted_us`: without unexplained delays, less the error of the replay.",
  },
  high_us: { unit: "us", text: "Upper bound: with these delays as recorded, plus that error." },
  unexplained_us: {
    unit: "us",
    text: "Unexplained delays on the critical path of the replay with nothing changed.",
  },
  launches_known: {
    unit: "fraction",
    text: "Share of the device time whose launch is in the trace; null without a device event. What was launched before the steps does not count: the replay has it as it was.",
  },
  critical_path: { text: "What the time of the predicted step consists of." },
  replayed_path: { text: "The same for the replay with nothing changed." },
  path_modules: {
    text: "Modules on the critical path of the predicted step, the longest first, then those off it with the least slack; null where the replay is refused, or they were not asked for, as the next three.",
  },
  path_modules_left_out: {
    unit: "count",
    text: "Number of modules that are not listed: of those on the critical path the longest 100 are, of the others the 50 with the least slack.",
  },
  path_modules_rest: { text: "Time on the critical path of the modules that are not listed." },
  path_kinds: {
    text: "Kinds of device events of the predicted step, those longest on the critical path first.",
  },
  steps: { unit: "count", text: "Number of steps that were replayed." },
  refused: { text: "Why nothing was replayed; null where it was." },
  as_recorded: {
    text: "Ids of findings that were asked to be gone and whose gain is unknown: nothing of them is changed. Where nothing else was asked, the replay is refused.",
  },
} as const;

export const WindowStatistics = {
  start: { unit: "us", text: "Start of the window." },
  end: { unit: "us", text: "End of the window." },
  events: { unit: "count", text: "Rows of the trace that touch the window." },
  host_blocked_us: {
    unit: "us",
    text: "Time in which any thread waited for a device, as `steps[].sync_blocked_us`: without the profiler's own sync. Null, as the next two, where `totals.sync_count` is.",
  },
  waits: { unit: "count", text: "Syncs that touch the window, the profiler's own among them." },
  sync_blocked_us: { unit: "us", text: "Sum of their times in the window." },
  phases: {
    unit: "us",
    text: "Host time within steps by phase, as the report's `steps[]`; without `forward` where that is unknown.",
  },
  top: { text: "Up to 20 names of each kind, most expensive first." },
  omitted: { unit: "count", text: "Names that `top` leaves out, by kind." },
} as const;

export const Work = {
  host_us: { unit: "us", text: "`self_host_us` plus that of all modules below in the tree." },
  device_us: {
    unit: "us",
    text: "`self_device_us` plus that of all modules below in the tree. Null, as all numbers of devices, without launches, and where a replayed graph may hold work of the module: it was not called in a step that replays a graph in no known phase, or is below the module that replays one. A host time of 0 is null then too.",
  },
  self_host_us: {
    unit: "us",
    text: "Forward: time of the module's calls less that of module calls inside them, of nodes evaluated meanwhile, in them or on another thread for which they wait (an annotation may be around the backward pass, too), of torch's profiler where it starts or stops in one, and, without marks of steps, of syncs left out of the only one (`steps[].left_out_us`). Backward: time of the nodes attributed to the module, each less the evaluations nested in it (a re-entrant backward's) and less the calls of modules inside it (a recomputed forward), which are those modules'.",
  },
  self_device_us: {
    unit: "us",
    text: "Forward: device work launched in the module's calls, outside the backward pass, and in no inner module's call. Backward: device work launched inside nodes that belong to the module; work launched inside a module's call within a node belongs to the module called.",
  },
  kernels: {
    unit: "count",
    text: "Kernels (copies and sets not counted) of the module and those below.",
  },
  by_kind: {
    unit: "us",
    text: "`device_us` by kind of work, summing to it; kinds without any are left out.",
  },
  tensor_core_us: {
    unit: "us",
    text: "The part of `device_us` that is known to have run on tensor cores.",
  },
  compute_us: {
    unit: "us",
    text: "`device_us` less `communication_us`: the total by which modules are ranked, shown and compared.",
  },
  self_compute_us: { unit: "us", text: "`self_device_us` less the module's own collectives." },
  communication_us: {
    unit: "us",
    text: "The part of `device_us` in collectives. They run in the hook of whichever module came last (a bucket's all-reduce), so they say nothing of its work. Those of `fully_shard` belong to the module that its range names (`FSDP::all_gather (blocks.0)`), else to the module in which they were launched, often the one above.",
  },
} as const;
