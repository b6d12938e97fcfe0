"""Modules, one in detail, compiled code and autograd nodes: what was attributed, and how."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tb_hookview.schema.terms import Bytes, Count, Percent, TimeByKind, Times, Us

# Rows about compiled code: what its graphs ran, and how much of that modules have.


class PlacedTime(Struct, frozen=True):
    """Time of the calls of compiled graphs in one direction, and the part that modules have."""

    host_us: Us
    """Host time of the calls."""
    placed_host_us: Us
    """The part of it that our recorder's map places on modules."""
    leaf_host_us: Us
    """The part of `placed_host_us` of modules without modules below them."""
    split_host_us: Us
    """The part of `placed_host_us` that was split among several modules, by the bytes that the part
    of each one reads and writes."""
    near_host_us: Us
    """The part of `placed_host_us` whose module the compiler lost, and neighbours in the graph
    named."""
    device_us: Us | None
    """Device work launched in the calls, recomputation left out."""
    placed_device_us: Us | None
    """The part of it that the map places on modules."""


class CompiledGraphs(Struct, frozen=True):
    """Calls of compiled graphs (`## Call CompiledFxGraph`) in a trace with our recorder's map."""

    calls: Count
    """Calls of graphs, in forward and backward."""
    placed: Count
    """Calls whose rows agree with the map. What the others ran stays with the module around the
    compiled region."""
    whole_by_reason: dict[str, Count]
    """The others by reason: no map of the graph (a cache that was filled without the recorder,
    say), a map of other modules, rows that differ from the map, calls of modules or nodes
    inside."""
    forward: PlacedTime
    backward: PlacedTime


class CompiledLump(Struct, frozen=True):
    """Compiled code in a module that is not broken down by the modules that it ran."""

    calls: Count
    """Calls of graphs, in forward and backward; of regions where the trace has no graphs."""
    host_us: Us
    """Host time of the calls."""
    device_us: Us | None
    """Device work launched in them that is charged to the module; null without launches."""


class CompiledRegion(Struct, frozen=True):
    """Compiled code by region, graph and operators, of any recorder."""

    id: int
    region: str | None
    """`Torch-Compiled Region: compile id`; of a backward the one of its forward. Null for unknown,
    and for generated kernels that ran in no region."""
    graph: str | None
    """Key of the graph, as in `## Call CompiledFxGraph key ##`."""
    compile_id: str | None
    backward: bool
    operators: str
    """The operators in the name of a generated kernel (`add_relu` of
    `triton_poi_fused_add_relu_1`), else the extern call (`aten::mm`); "" for host time between
    them: the code around kernels, and on a CPU generated kernels, which leave no rows."""
    generated: bool
    """Whether they are one kernel that Inductor generated."""
    calls: Count
    """Rows of calls; of a replayed CUDA graph its kernels."""
    host_us: Us
    """Time of the rows of these calls."""
    device_us: Us | None
    """Device work launched in them; null where the trace has no launches."""


class Work(Struct, frozen=True):
    """Work of one direction (forward, backward, recompute) of one module.

    Device times are sums of durations: work that ran at the same time on two streams counts twice.
    """

    host_us: Us | None
    """`self_host_us` plus that of all modules below in the tree."""
    device_us: Us | None
    """`self_device_us` plus that of all modules below in the tree. Null, as all numbers of devices,
    without launches, and where a replayed graph may hold work of the module: it was not called in a
    step that replays a graph in no known phase, or is below the module that replays one. A host
    time of 0 is null then too."""
    self_host_us: Us | None
    """Forward: time of the module's calls less that of module calls inside them, of nodes evaluated
    meanwhile, in them or on another thread for which they wait (an annotation may be around the
    backward pass, too), of torch's profiler where it starts or stops in one, and, without marks of
    steps, of syncs left out of the only one (`steps[].left_out_us`). Backward: time of the nodes
    attributed to the module, each less the evaluations nested in it (a re-entrant backward's) and
    less the calls of modules inside it (a recomputed forward), which are those modules'."""
    self_device_us: Us | None
    """Forward: device work launched in the module's calls, outside the backward pass, and in no
    inner module's call. Backward: device work launched inside nodes that belong to the module; work
    launched inside a module's call within a node belongs to the module called."""
    kernels: Count | None
    """Kernels (copies and sets not counted) of the module and those below."""
    by_kind: TimeByKind | None = None
    """`device_us` by kind of work, summing to it; kinds without any are left out."""
    tensor_core_us: Us | None = None
    """The part of `device_us` that is known to have run on tensor cores."""
    compute_us: Us | None = None
    """`device_us` less `communication_us`: the total by which modules are ranked, shown and
    compared."""
    self_compute_us: Us | None = None
    """`self_device_us` less the module's own collectives."""
    communication_us: Us | None = None
    """The part of `device_us` in collectives. They run in the hook of whichever module came last
    (a bucket's all-reduce), so they say nothing of its work. Those of `fully_shard` belong to the
    module that its range names (`FSDP::all_gather (blocks.0)`), else to the module in which they
    were launched, often the one above."""

    def total(self, *, device: bool) -> Us | None:
        """Time including children by which modules are shown: `compute_us`, or that of the host."""
        return self.compute_us if device else self.host_us

    def own(self, *, device: bool) -> Us | None:
        """The part of `total` of the module alone."""
        return self.self_compute_us if device else self.self_host_us


class ModuleSync(Struct, frozen=True):
    """Syncs inside a module or the modules below it, without the profiler's own."""

    count: Count | None
    """Syncs. Null as `totals.sync_count`, and where no operators, annotations or calls of modules
    were recorded."""
    blocked_us: Us | None
    """Sum of their durations."""
    device_idle_us: Us | None
    """Device idle time that they caused."""


class InputShapes(Struct, frozen=True):
    """Inputs of some calls of a module, as far as their first operator shows them."""

    operator: str
    dims: list[Any]
    """Shapes of the operator's inputs as the trace writes them; `[]` without a shape."""
    calls: Count
    """Calls with these inputs."""


class Module(Struct, frozen=True, rename={"module_class": "class"}):
    """One module instance."""

    id: int
    path: str
    """Qualified name as `named_modules()` gives it below the wrapped root, `""` for the root;
    without names in the trace, the stack's or annotation's own label."""
    module_class: str
    parent: str | None
    """Path of the module above; null for a root. By qualified names where the trace has them, else
    the innermost module around all calls: one that several call is below none of them."""
    parent_id: int | None
    depth: int
    """Modules above it; 0 for a root."""
    calls: Count
    """Calls of the module outside the backward pass; of a module inside a compiled region, calls of
    placed forward graphs that hold it. Where these are not seen, 0 (see `forward`)."""
    forward: Work
    """All null where the module's calls are not seen: it was not called, and runs in compiled code
    that no map places, or the recorder was not to mark it (`include`, `exclude`, `depth`), or
    gradients of its parameters are marked, as where `forward` is called directly or another module
    uses them, or none of its root's modules was called though gradients of these are marked (or
    none of any root); the same holds for a module without calls above such a one. What it did is in
    the times of the module around its calls, or of none."""
    backward: Work
    """Where the module's calls are not seen, only a part: gradients that are marked, and modules
    below whose calls are seen; null where there is none."""
    recompute: Work | None
    """The part of `backward` that is forward work done again within a node (activation
    checkpointing): calls of modules inside a node and the device work they launched; in no module's
    call, forward operators inside a node, which are charged to the node's module. Forward operators
    are known by their sequence numbers; where nodes made inside a node are evaluated outside it (a
    backward that is differentiated itself), numbers say nothing. Null where the module and those
    below it recomputed nothing."""
    sync: ModuleSync
    backward_ratio: Times | None = None
    """`backward.compute_us` divided by `forward.compute_us`; host times where the trace has no
    device; null where the forward took none."""
    occupancy_pct: Percent | None = None
    """Mean of the kernels' `est. achieved occupancy %` (the profiler's estimate from the launch's
    shape), weighted by duration, over the module and those below, both directions; null where it is
    not in the trace (AMD, torch's second exporter)."""
    kernel_loading_us: Us | None = None
    """The part of its host times, and of those of modules below it, that the host spent loading the
    code of kernels on their first use, as in the idle time of that cause: charged once, to
    whichever module came first. Null without launches, and where `sync.count` is null for want of
    operators."""
    shapes: list[InputShapes] = []
    """`Input Dims` of the first operator that has any in each call of the module, the three most
    frequent; recomputed calls do not count. Empty where the trace was recorded without
    `record_shapes`."""
    compiled: bool = False
    """Whether the module runs inside a compiled region (`torch.compile`), if it ran: it was not
    called on its own, and the recorder says so, or a region ran in the nearest module above it that
    was called. Where our recorder's map places the region's graphs, its calls and times are known.
    Elsewhere its calls are not seen."""
    compiled_lump: CompiledLump | None = None
    """Compiled code in the module's self time, not broken down by module: the trace holds no map of
    our recorder's, or one that does not fit. Null where there is none."""
    source: str | None = None
    """File and line where the module's class is defined, as our recorder wrote it down; without
    that, where the function `forward` is that ran in the module's first call and in no module
    further in, as Python stacks show it; null where there is neither."""
    unseen: str | None = None
    """Why its calls and its work are unknown; null where they are known."""


UNSEEN_IN_COMPILED = "compiled code that is not broken down by module runs it"
UNSEEN = (
    "its calls, or those of a module below, are not in the trace (not marked: include, exclude, "
    "depth; run by a copy, another thread, torch.jit, torch.export or a replayed graph; or "
    "forward() is called directly, or another module uses the parameters)"
)


class Node(Struct, frozen=True):
    """All autograd nodes of one name."""

    id: int
    name: str
    count: Count
    """Evaluations."""
    host_us: Us
    """Time of the evaluations, without those nested in them."""
    device_us: Us | None
    """Device work launched inside them."""


class Coverage(Struct, frozen=True):
    """The part of the backward pass that was attributed, by evidence."""

    backward_device_us: Us | None
    """All device work launched inside a node, whatever launched it. Equals
    `totals.backward_device_us` and the sum over modules of `backward.self_device_us` plus
    `unattributed_us`."""
    unattributed_us: Us | None
    """The part of it that belongs to no module."""
    backward_host_us: Us | None
    """Time of all nodes, each less the evaluations nested in it. Equals the sum over modules of
    `backward.self_host_us` plus `unattributed_host_us`. Null, as the next, where the trace has no
    operators, nodes or marks that would show a backward pass."""
    unattributed_host_us: Us | None
    """The part of it that belongs to no module."""
    by_evidence: dict[str, Us]
    """Attributed backward time by evidence. It is device time where there is any, else host time;
    `measure` says which."""
    measure: str
    """ "device" or "host"."""
    by_evidence_host: dict[str, Us]
    """Attributed backward host time by evidence."""
    unattributed_by_reason: dict[str, Us]
    """The rest, in `measure`, by reason: a gradient whose parameter is not known (no gradient
    mark), a node whose forward operator is not in the trace, a forward operator that ran in
    no module, a trace that names no modules at all, a launch in a range by which a pipeline
    marks its backward, outside of autograd nodes."""
    by_origin: dict[str, Us] = {}
    """Attributed backward time, in `measure`, by what names the module: `recorder` (marks or the
    manifest), `lightning`, `python_stack` (the stack's own label, `Linear_3`), `annotation` (no
    module at all: a range that somebody put around the forward)."""
    communication_device_us: Us | None = None
    """The part of `backward_device_us` that is communication."""
    unattributed_communication_us: Us | None = None
    """The part of `unattributed_us` that is communication."""

    def total(self, *, device: bool) -> Us | None:
        """The whole that `Work.total` of modules is a share of."""
        if not device:
            return self.backward_host_us
        return _without(self.backward_device_us, self.communication_device_us)

    def unattributed(self, *, device: bool) -> Us | None:
        """The part of `total` that belongs to no module."""
        if not device:
            return self.unattributed_host_us
        return _without(self.unattributed_us, self.unattributed_communication_us)


def _without(whole: Us | None, communication: Us | None) -> Us | None:
    return None if whole is None else whole - (communication or 0.0)


# Answers about one module. Times are microseconds, including the modules below it.


class Amount(Struct, frozen=True):
    """Device work of one direction: including children, and of the module alone."""

    count: Count
    """Device events of the module and those below."""
    device_us: Us
    """Sum of their durations."""
    self_count: Count
    """Device events of the module alone."""
    self_device_us: Us
    """Sum of their durations."""


class KernelUse(Struct, frozen=True):
    """Device work of one name and kind in the module or those below it."""

    id: int
    """Row of the report's kernels, which are cut to the most expensive names."""
    name: str
    kind: str
    event: str
    """ "kernel", "copy" or "set"."""
    tensor_core: bool | None
    forward: Amount
    backward: Amount
    recompute: Amount
    """A part of `backward`."""


class KernelUseOmitted(Struct, frozen=True):
    """Sum of the rows left out of the list of kernels: the cheapest names."""

    names: Count
    """Names of kernels, copies and sets."""
    forward: Amount
    backward: Amount
    recompute: Amount


class NodeUse(Struct, frozen=True):
    """Autograd nodes of one name: including children, and of the module alone."""

    id: int
    """Row of the report's nodes."""
    name: str
    count: Count
    """Evaluations."""
    host_us: Us
    """Time of these, each less those nested in it."""
    device_us: Us | None
    """The module's own work that was launched inside; work that recomputes the module in a node
    of another module is here, that node is not."""
    self_count: Count
    """Evaluations that belong to the module itself."""
    self_host_us: Us
    """The same of these."""
    self_device_us: Us | None
    """Device work of the module itself launched inside."""


class NodeUseOmitted(Struct, frozen=True):
    """Sum of the rows left out of the list of nodes."""

    names: Count
    """Names of nodes."""
    count: Count
    """Evaluations."""
    host_us: Us
    """Time of these, each less those nested in it."""
    device_us: Us | None
    """Device work of the module launched inside."""
    self_count: Count
    """Evaluations that belong to the module itself."""
    self_host_us: Us
    """The same of these."""
    self_device_us: Us | None
    """Device work of the module itself launched inside."""


class SharedParameter(Struct, frozen=True):
    """A parameter that an earlier module holds too, and that is counted there."""

    parameter: str
    owner: str
    owner_parameter: str


class Parameters(Struct, frozen=True):
    """A module's parameters as the recorder saw them, each counted where it is held first."""

    count: Count
    """Elements of the parameters of the module and those below."""
    bytes: Bytes
    """Memory that they take."""
    self_count: Count
    """Elements of the module's own."""
    self_bytes: Bytes
    """Memory that these take."""
    trainable: bool
    """Whether a parameter of the module itself requires a gradient."""
    shared: list[SharedParameter]


class CallRow(Struct, frozen=True):
    """One call of a module, or a bin of consecutive calls."""

    id: int
    """Event of the call, the row of the trace that shows it; of a bin, of its first call."""
    calls: Count
    """1, or how many calls the bin holds; times are then their sums."""
    start_us: Us
    """Start of the first call, on the trace's own clock."""
    duration_us: Us
    """Length of the call on the host. That of a bin is from its first start to its last end."""
    forward_host_us: Us
    """As `forward.host_us` of the module."""
    forward_compute_us: Us | None
    """As `forward.compute_us` of the module."""
    backward_host_us: Us
    """As `backward.host_us` of the module, of the nodes that the call made."""
    backward_compute_us: Us | None
    """As `backward.compute_us` of the module, of the nodes that the call made."""
    communication_us: Us | None
    """As `communication_us` of the module, forward and backward together."""
    backward_start_us: Us | None
    """Start of the first of its autograd nodes; null where none ran."""
    backward_duration_us: Us | None
    """From there to the end of the last one."""


class Unplaced(Struct, frozen=True):
    """Time of the module that is in no call of its own."""

    forward_host_us: Us
    """Part of `forward.host_us` of the module."""
    forward_compute_us: Us | None
    """Part of `forward.compute_us` of the module."""
    backward_host_us: Us
    """Part of `backward.host_us` of the module."""
    backward_compute_us: Us | None
    """Part of `backward.compute_us` of the module."""
    communication_us: Us | None
    """Part of `communication_us` of the module, forward and backward together."""


class CallsOverTime(Struct, frozen=True):
    """Calls by start, without recomputed ones. Rows and `unplaced` sum to the module's row."""

    count: Count
    """Calls."""
    binned: bool
    """Whether a row is a bin of consecutive calls: from 2,000 calls on."""
    rows: list[CallRow]
    unplaced: Unplaced
    slowest: dict[str, CallRow]
    """The most expensive single call by each measure; measures without any time are left out."""


class ModuleDetail(Struct, frozen=True):
    """One module of a trace, over the selected steps."""

    path: str
    kernels: list[KernelUse]
    """Most expensive first, forward and backward together."""
    kernels_omitted: KernelUseOmitted | None
    """Null where the list is complete."""
    nodes: list[NodeUse]
    """Most expensive first."""
    nodes_omitted: NodeUseOmitted | None
    """Null where the list is complete."""
    parameters: Parameters | None
    """Null where the recorder left none."""
    calls: CallsOverTime
    backward_by_evidence: dict[str, Us]
    """Backward time of the module alone by evidence, in the `measure` of `coverage`."""
    forward_by_evidence: dict[str, Us]
    """Forward time of the module alone that compiled graphs ran, by evidence; device time, on a
    trace without any that of the host. The rest of its forward is measured at its calls."""


class KernelSearch(Struct, frozen=True):
    """Modules that launched kernels, copies or sets with a text in their names themselves."""

    names: Count
    """Different names that hold the text, whether a module launched them or not."""
    paths: list[str]
    """In the order of the report's modules, each once."""
    omitted: Count
    """Modules found beyond the first 2,000."""
