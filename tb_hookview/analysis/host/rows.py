"""Host rows: the call tree with name, role and sequence number of each row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview import markers
from tb_hookview.arrays.joins import isin, mask_of, unique
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Code, EventRow, Int, StringIndex, TreeRow
from tb_hookview.trace import EventCategory, Trace
from tb_hookview.trace.format.vocabulary import DEVICE_CATEGORIES

AT_WORK = (int(EventCategory.OPERATOR), int(EventCategory.RUNTIME))
"""Kinds of rows in which a thread is awake."""

# Role of each event, by its name. Each distinct name is parsed once.


EVALUATE = "autograd::engine::evaluate_function: "
"""torch >= 1.9 wraps each autograd node in an operator row of this name."""

_GRADIENT_SINK = re.compile(r"(struct )?torch::autograd::AccumulateGrad")
_NODE = re.compile(r"(struct )?(torch::autograd::.+|(?!aten::)[\w:]*Backward\d*)")
"""Names of autograd nodes, for traces in which nothing else tells them from operators."""
MODULE_PREFIX = "nn.Module: "
"""What the names of modules' rows begin with, among those of Python functions."""
_MODULE_LABEL = re.compile(r"nn\.Module: (?P<label>(?P<module_class>.+)_\d+)")
_LIGHTNING = re.compile(r"\[pl\]\[module\](?P<module_class>[^:]+): (?P<path>.+)")
_STEP = re.compile(r"ProfilerStep#\d+")
_NO_LABEL = re.compile(
    r"ProfilerStep#|Optimizer\.|enumerate\(Data|Torch-Compiled Region|## Call CompiledFxGraph"
    r"|\[pl\]|(nccl|gloo|hccl|mpi|ucc|xccl|c10d):|PyTorch Profiler|cudaGraph|Iteration Start"
)


class Role(IntEnum):
    """Meaning of a host row to the analysis."""

    NONE = 0
    NODE = 1
    """Evaluation of an autograd node."""
    GRADIENT_SINK = 2
    """`AccumulateGrad` itself, the node that has no sequence number."""
    FORWARD_MARK = 3
    BEFORE_MARK = 4
    AFTER_MARK = 5
    GRADIENT_MARK = 6
    MODULE_LABEL = 7
    """`nn.Module: Class_k` row of a trace recorded with Python stacks."""
    LIGHTNING = 8
    """Lightning's `[pl][module]Class: path` annotation."""
    LABEL = 9
    """Any other annotation somebody put there."""
    STEP = 10
    OPTIMIZER = 11
    DATA = 12
    FUNCTION_MARK = 13
    """A call that scales or clips gradients."""
    UNKNOWN_MARK = 14
    """A mark of the recorder's whose kind this version does not know."""
    COLLECTION = 15
    """A garbage collection of Python's."""


_MARK_ROLES = {
    "forward": Role.FORWARD_MARK,
    "before backward": Role.BEFORE_MARK,
    "after backward": Role.AFTER_MARK,
    "gradient": Role.GRADIENT_MARK,
    "call": Role.FUNCTION_MARK,
}

MARK_ROLES = tuple(_MARK_ROLES.values())
"""Roles of the recorder's marks of known kinds."""

TIMED_MARKS = {
    "forward": (Role.FORWARD_MARK,),
    "gradient": (Role.GRADIENT_MARK,),
    "backward": (Role.BEFORE_MARK, Role.AFTER_MARK),
    "function": (Role.FUNCTION_MARK,),
}
"""Roles of the recorder's marks by the kinds whose cost it measures."""

MODULE_ROLES = (Role.FORWARD_MARK, Role.LIGHTNING, Role.MODULE_LABEL, Role.LABEL)
"""Roles of rows in whose range a module's forward runs, strongest evidence first."""


class ModuleName(Struct, frozen=True):
    """Module in the name of a row."""

    path: str
    module_class: str


def module_name(name: str, role: Role) -> ModuleName:
    """Parse the name of a row of a module role, or of a mark."""
    if role is Role.MODULE_LABEL and (match := _MODULE_LABEL.fullmatch(name)):
        return ModuleName(match["label"], match["module_class"])
    if role is Role.LIGHTNING and (match := _LIGHTNING.fullmatch(name)):
        return ModuleName(match["path"], match["module_class"])
    mark = markers.decode(name)
    if mark is not None:
        return ModuleName(mark.path, mark.module_class)
    return ModuleName(name, "annotation")


def node_name(name: str) -> str:
    """Name of the autograd node a row evaluates."""
    return name.removeprefix(EVALUATE)


def roles(trace: Trace) -> Code:
    """Role of every event, shape (n,)."""
    events = trace.events
    annotation = events.kind == EventCategory.ANNOTATION
    host = (events.kind == EventCategory.OPERATOR) | annotation
    role = _by_name(trace, host, _host_role)
    role += _by_name(trace, events.kind == EventCategory.PYTHON, _python_role)
    role += _by_name(trace, annotation & (role == Role.NONE), _label_role)
    if not (role == Role.NODE).any():
        role[host & (events.forward_thread > 0) & (events.sequence >= 0)] = Role.NODE
        role[role == Role.GRADIENT_SINK] = Role.NODE
        if not (events.sequence >= 0).any():
            operator = (events.kind == EventCategory.OPERATOR) & (role == Role.NONE)
            role += _by_name(trace, operator, _old_node_role)
    return role


def _by_name(trace: Trace, rows: Bool, role_of: Callable[[str], Role]) -> Code:
    """Role of the chosen rows by their names; NONE of all others."""
    name = trace.events.name[rows]
    table = np.zeros(len(trace.strings), np.int8)
    occurs = mask_of(name, len(trace.strings))
    texts = trace.strings.texts
    for string in np.flatnonzero(occurs).tolist():
        table[string] = role_of(texts[string])
    role = np.zeros(len(rows), np.int8)
    role[rows] = table[name]
    return role


def _old_node_role(name: str) -> Role:
    return Role.NODE if _NODE.fullmatch(name) else Role.NONE


def _label_role(name: str) -> Role:
    return Role.NONE if _NO_LABEL.match(name) else Role.LABEL


def _python_role(name: str) -> Role:
    label = name.startswith(MODULE_PREFIX) and _MODULE_LABEL.fullmatch(name)
    return Role.MODULE_LABEL if label else Role.NONE


def _host_role(name: str) -> Role:
    if name.startswith(EVALUATE):
        return Role.NODE
    if name.endswith("AccumulateGrad") and _GRADIENT_SINK.fullmatch(name):
        return Role.GRADIENT_SINK
    if (mark := markers.decode(name)) is not None:
        return _MARK_ROLES[mark.kind]
    if markers.has_our_tail(name):
        return Role.UNKNOWN_MARK
    if name.startswith("ProfilerStep#") and _STEP.fullmatch(name):
        return Role.STEP
    if name.startswith("Optimizer."):
        return Role.OPTIMIZER
    if name.startswith("enumerate(Data"):
        return Role.DATA
    if name.startswith(markers.COLLECTION):
        return Role.COLLECTION
    lightning = name.startswith("[pl]") and _LIGHTNING.fullmatch(name)
    return Role.LIGHTNING if lightning else Role.NONE


# Threads of a trace: those of the host, and those of devices.


def device_threads(trace: Trace) -> Bool:
    """Whether each thread is a device's: a stream, or another of its process.

    Some vendors mirror calls of the host next to the streams; these are not further calls. A
    process with operators or annotations is the host's.
    """
    streams = _holding(trace, DEVICE_CATEGORIES)
    named = _holding(trace, (EventCategory.OPERATOR, EventCategory.ANNOTATION))
    rows = list(zip(trace.threads, streams.tolist(), named.tolist(), strict=True))
    devices = {thread.pid for thread, is_stream, _ in rows if is_stream}
    devices -= {thread.pid for thread, _, is_named in rows if is_named}
    return np.asarray(streams | np.array([t.pid in devices for t in trace.threads], bool))


def _holding(trace: Trace, kinds: Iterable[EventCategory]) -> Bool:
    """Whether each thread has events of these categories."""
    wanted = mask_of([int(kind) for kind in kinds], len(EventCategory))
    thread = trace.events.thread[wanted[trace.events.kind]]
    return np.bincount(thread, minlength=len(trace.threads)) > 0


_NAMING = (
    *(Role.NONE, Role.NODE, Role.GRADIENT_SINK, Role.OPTIMIZER, Role.COLLECTION),
    *MODULE_ROLES,
)


class HostRows(Struct, frozen=True, dict=True):
    """Rows of the call tree; columns of shape (n,)."""

    trace: Trace
    call_tree: CallTree
    role: Int
    """`Role` of each row."""

    def __len__(self) -> int:
        return len(self.call_tree)

    @cached_property
    def string(self) -> StringIndex:
        """Name, as an index into the trace's strings."""
        return self.trace.events.name[self.call_tree.event].astype(np.int64)

    @cached_property
    def names(self) -> list[int]:
        """Every name that a row has once, as an index into the trace's strings, ascending."""
        return unique(self.string).tolist()  # type: ignore[no-any-return]

    def named(self, test: Callable[[str], object]) -> TreeRow:
        """Rows whose name passes a test, ascending."""
        return np.flatnonzero(self.is_named(test))

    def is_named(self, test: Callable[[str], object]) -> Bool:
        """Whether the name of each row passes a test."""
        texts = self.trace.strings.texts
        names = [name for name in self.names if test(texts[name])]
        return mask_of(names, len(texts))[self.string] if names else np.zeros(len(self), bool)

    @cached_property
    def kind(self) -> Code:
        """`EventCategory` of the event."""
        return self.trace.events.kind[self.call_tree.event]

    @cached_property
    def operators(self) -> Bool:
        """Operators that are neither marks nor nodes."""
        return np.asarray((self.kind == EventCategory.OPERATOR) & (self.role == Role.NONE))

    @property
    def operators_and_annotations(self) -> Bool:
        """Operators and annotations, whatever their role."""
        return isin(self.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])

    @cached_property
    def naming(self) -> EventRow:
        """Events of operators and annotations whose names say what the host does, in any order.

        Steps, marks and calls are none.
        """
        named = self.operators_and_annotations & isin(self.role, [int(role) for role in _NAMING])
        return np.asarray(self.call_tree.event[named | (self.role == Role.MODULE_LABEL)])

    @cached_property
    def operator_around(self) -> TreeRow:
        """Innermost operator strictly around each row; marks and annotations do not count."""
        role, operator = self.role, self.kind == EventCategory.OPERATOR
        plain = (role == Role.NONE) | (role == Role.NODE) | (role == Role.GRADIENT_SINK)
        if (plain | ~operator).all():
            return self.any_operator_around
        return self.call_tree.nearest_above(operator & plain)

    @cached_property
    def any_operator_around(self) -> TreeRow:
        """Innermost operator strictly around each row, whatever its role."""
        return self.call_tree.nearest_above(self.kind == EventCategory.OPERATOR)

    @cached_property
    def device_threads(self) -> Bool:
        """Whether each thread of the trace is a device's."""
        return device_threads(self.trace)

    @cached_property
    def process(self) -> Int:
        """A number for the process of each thread of the trace."""
        numbers: dict[str, int] = {}
        threads = self.trace.threads
        return np.array([numbers.setdefault(t.pid, len(numbers)) for t in threads], np.int64)

    @cached_property
    def sequence(self) -> Int:
        """Autograd sequence number, -1 for none."""
        return self._numbers[0]

    @cached_property
    def forward_thread(self) -> Int:
        """Profiler's number of the thread whose forward made this node, 0 for none."""
        return self._numbers[1]

    @cached_property
    def _numbers(self) -> tuple[Int, Int]:
        """Sequence numbers and forward threads.

        torch copies a node's to its evaluation from the next row only. A mark that a hook left
        before the node ran takes that place. Such an evaluation gets them here from the node's own
        row inside it.
        """
        sequence = self.trace.events.sequence[self.call_tree.event].copy()
        forward_thread = self.trace.events.forward_thread[self.call_tree.event].copy()
        # A gradient that is not accumulated but returned has no row inside, so that the number of
        # another node was copied.
        is_node = self.role == Role.NODE
        sinks = is_node & self.is_named(_evaluates_sink)
        sequence[sinks], forward_thread[sinks] = -1, 0
        unnumbered = is_node & (sequence < 0)
        inside = np.flatnonzero((sequence >= 0) & (forward_thread > 0))
        inside = inside[lookup(unnumbered, self.call_tree.parent[inside]) > 0]
        inside = inside[self._names_node(inside, self.call_tree.parent[inside])]
        sequence[self.call_tree.parent[inside]] = sequence[inside]
        forward_thread[self.call_tree.parent[inside]] = forward_thread[inside]
        return sequence, forward_thread

    def _names_node(self, row: TreeRow, evaluation: TreeRow) -> Bool:
        """Whether each row has the name of the node that the evaluation is of."""
        texts = self.trace.strings
        number = {texts[string]: string for string in unique(self.string[row]).tolist()}
        wanted = texts.map(
            self.string[evaluation], lambda t: number.get(node_name(t), -1), np.int64
        )
        return np.asarray(self.string[row] == wanted)

    def name(self, row: int) -> str:
        """Name of one row."""
        return self.trace.strings[int(self.string[row])]

    def role_of(self, row: int) -> Role:
        """Role of one row."""
        return _ROLES[int(self.role[row])]


_ROLES = tuple(Role)


def _evaluates_sink(text: str) -> bool:
    return text.startswith(EVALUATE) and text.rpartition(":")[2] == "AccumulateGrad"


# Effects on the host of runtime calls, by their names, of every vendor.
#
# Each distinct name is matched once. The names are those of the vendors' interfaces: CUDA and HIP
# runtime and driver, MUSA, Level Zero and Unified Runtime (XPU), SynapseAI (HPU), CANN (NPU), and
# the stream calls of MTIA. A suffix (`_ptsz`, `_spt`, `_v2`) is another entry to the same call.


WHOLE_DEVICE = re.compile(
    r"(cuda|hip|mu|musa)DeviceSynchronize|cuCtxSynchronize|synchronize(Device)?"
    r"|aclrtSynchronizeDevice\w*"
)
"""Names of the calls that wait for a whole device."""


class Call(IntEnum):
    """Effects that a call may have on the host."""

    NONE = 0
    """A launch, a poll, an asynchronous copy between pinned memory and device, anything else."""
    WAIT = 1
    """Returns when the device has done what it was given."""
    COPY = 2
    """A copy that returns when it is done."""
    ASYNC_COPY = 3
    """A copy that may wait, by the memory at its ends and by its size."""
    ALLOCATE = 4
    """Allocates or frees memory: slow, and some stop the device."""
    DEVICE_WAIT = 5
    """Orders streams on the device; the host goes on."""
    LOAD = 6
    """Loads the code of kernels, or compiles or links it: slow, and done once. Some are `cudaFree`
    by name (see `library_starts.py`)."""


_RUNTIME = "(?:cuda|hip|mu|musa)"
_PATTERNS = (
    (
        Call.WAIT,
        rf"(?:{_RUNTIME}|cu)(?:Device|Stream|Event|Ctx|Thread)Synchronize(?:_\w+)?"
        r"|zeCommandQueueSynchronize|ze(?:CommandList|Event|Fence)HostSynchronize"
        r"|(?:ur|pi)QueueFinish|urEventWait|piEventsWait"
        r"|synchronize(?:Stream|Device|Event)?"
        r"|syn(?:Stream|Event|Device)Synchronize"
        r"|aclrtSynchronize(?:Device|Stream|Event)(?:WithTimeout)?",
    ),
    (Call.COPY, rf"(?:(?:{_RUNTIME}|cu)Memcpy|aclrtMemcpy)(?!.*Async)\w*"),
    (
        Call.ASYNC_COPY,
        rf"(?:(?:{_RUNTIME}|cu)Memcpy|aclrtMemcpy)\w*Async\w*"
        r"|zeCommandListAppendMemoryCopy\w*|urEnqueue(?:USMMemcpy|USM2DMemcpy|MemBuffer)\w*",
    ),
    (
        Call.ALLOCATE,
        rf"{_RUNTIME}(?:Ext)?(?:Host)?(?:Malloc|Free|Alloc)(?!.*Async)\w*"
        rf"|{_RUNTIME}Host(?:Register|Unregister)\w*"
        rf"|{_RUNTIME}Ipc(?:Open|Close)MemHandle\w*|{_RUNTIME}(?:Device)?MemPoolTrimTo\w*"
        rf"|(?:{_RUNTIME}|cu)Mem(?:Create|Map|Unmap|Release|SetAccess"
        r"|AddressReserve|AddressFree)(?:_\w+)?"
        r"|cuMem(?:Alloc|Free|Host(?:Alloc|Register|Unregister))(?!.*Async)\w*"
        r"|zeMem(?:Alloc|Free)\w*|urUSM(?:\w+Alloc|Free)\w*|aclrt(?:Malloc|Free)\w*",
    ),
    (
        Call.DEVICE_WAIT,
        rf"(?:{_RUNTIME}|cu)StreamWaitEvent\w*|zeCommandListAppend(?:Barrier|WaitOnEvents)\w*"
        r"|urEnqueueEventsWait\w*|synStreamWaitEvent|aclrtStreamWaitEvent\w*"
        r"|enqueueCommand waitOnEvent|event_wait",
    ),
    (
        Call.LOAD,
        rf"(?:{_RUNTIME}|cu)(?:Module|Library)(?:Load|GetFunction|GetKernel|GetModule)\w*"
        rf"|(?:{_RUNTIME}|cu)(?:KernelGetFunction|FuncLoad|LinkComplete)(?:_\w+)?"
        r"|zeModuleCreate|(?:ur|pi)Program(?:Build|Link|Compile)\w*|aclrtBinaryLoad\w*",
    ),
)
_COMPILED = tuple((call, re.compile(pattern)) for call, pattern in _PATTERNS)
_MAY_MATCH = re.compile(r"cuda|cu[A-Z]|hip|mu|ze[A-Z]|ur[A-Z]|pi[A-Z]|syn|aclrt|enqueue|event_wait")


def call_of(name: str) -> Call:
    """Effect that a call of this name may have on the host."""
    if _MAY_MATCH.match(name):
        for call, pattern in _COMPILED:
            if pattern.fullmatch(name):
                return call
    return Call.NONE
