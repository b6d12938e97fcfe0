"""Rows about modules and autograd nodes: what was attributed to them, and how."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tb_hookview.schema.compiled import CompiledLump
from tb_hookview.schema.terms import Count, Percent, TimeByKind, Times, Us


class Work(Struct, frozen=True):
    """Work of one direction (forward, backward, recompute) of one module.

    Device times are sums of durations: work that ran at the same time on two streams counts twice.
    """

    host_us: Us | None
    """`self_host_us` plus that of all modules below in the tree."""
    device_us: Us | None
    """`self_device_us` plus that of all modules below in the tree."""
    self_host_us: Us | None
    """Forward: time of the module's calls less that of module calls inside them. Backward: time of
    the nodes attributed to the module, each less the evaluations nested in it (a re-entrant
    backward's)."""
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
    (a bucket's all-reduce), so they say nothing of its work."""

    def total(self, *, device: bool) -> Us | None:
        """Time including children by which modules are shown: `compute_us`, or that of the host."""
        return self.compute_us if device else self.host_us

    def own(self, *, device: bool) -> Us | None:
        """The part of `total` of the module alone."""
        return self.self_compute_us if device else self.self_host_us


class ModuleSync(Struct, frozen=True):
    """Syncs inside a module or the modules below it, without the profiler's own."""

    count: Count
    """Syncs."""
    blocked_us: Us
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
    """Path of the module above; null for a root."""
    parent_id: int | None
    depth: int
    """Modules above it; 0 for a root."""
    calls: Count
    """Calls of the module outside the backward pass; of a module inside a compiled region, calls of
    placed forward graphs that hold it."""
    forward: Work
    backward: Work
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
    whichever module came first. Null without launches."""
    shapes: list[InputShapes] = []
    """`Input Dims` of the first operator that has any in each call of the module, the three most
    frequent; recomputed calls do not count. Empty where the trace was recorded without
    `record_shapes`."""
    compiled: bool = False
    """Whether the module runs inside a compiled region (`torch.compile`), if it ran: it was not
    called on its own, and the recorder says so, or a region ran in the nearest module above it that
    was called. Where our recorder's map places the region's graphs, its calls and times are known.
    Elsewhere its work is part of that module's and its own is unknown, so `forward` is null; of
    `backward` only the gradients that are marked are known."""
    compiled_lump: CompiledLump | None = None
    """Compiled code in the module's self time, not broken down by module: the trace holds no map of
    our recorder's, or one that does not fit. Null where there is none."""
    source: str | None = None
    """File and line where the module's class is defined, as our recorder wrote it down; without
    that, where the function `forward` is that ran in the module's first call and in no module
    further in, as Python stacks show it; null where there is neither."""


class Node(Struct, frozen=True):
    """All autograd nodes of one name."""

    id: int
    name: str
    count: Count
    """Evaluations."""
    host_us: Us
    """Time of the evaluations, each less those nested in it."""
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
    backward_host_us: Us
    """Time of all nodes, each less the evaluations nested in it. Equals the sum over modules of
    `backward.self_host_us` plus `unattributed_host_us`."""
    unattributed_host_us: Us
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
