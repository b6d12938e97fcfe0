"""Answers about one module. Times are microseconds, including the modules below it."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.terms import Bytes, Count, Us


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
