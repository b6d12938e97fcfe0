"""What a host thread was doing at a time, with what inputs, by the names that the trace has."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import (
    MARK_ROLES,
    MODULE_ROLES,
    HostRows,
    Role,
    module_name,
    node_name,
)
from tb_hookview.analysis.host.stacks import around_any, is_frame, rows_holding
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, mask_of, pair_key, unique, unique_inverse
from tb_hookview.arrays.nesting import innermost_at, lookup, self_time
from tb_hookview.arrays.types import (
    Bool,
    EventRow,
    Int,
    Intervals,
    Nanoseconds,
    ThreadIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.schema.terms import module_label
from tb_hookview.trace import EventCategory, StringTable

_HELD = 0.8
"""Share of a time that an event has to hold to name it."""
_LONGEST = 1 << 62
"""Nanoseconds that nothing takes."""
_FRAME = re.compile(r"(?:.*/)?(?P<file>[^/]+): (?P<function>.+)")
_PASSES_ON = re.compile(
    r"(?:.*[/\\])?torch[/\\](?:(?:_ops|_library[/\\]custom_ops|overrides)\.py"
    r"|utils[/\\]_(?:contextlib|device)\.py"
    r"|nn[/\\]modules[/\\]module\.py(?=\(\d+\): (?:_wrapped)?_call_impl)"
    r"|autograd[/\\]function\.py(?=\(\d+\): apply)"
    r"|amp[/\\]autocast_mode\.py(?=\(\d+\): decorate_))\(\d+\): .+"
)
"""Frames of torch that only pass a call on: who called them says what ran."""


def named_activity(host: HostRows, thread: ThreadIndex, span: Intervals) -> list[str]:
    """Name of what a thread was in for most of each time; "" where nothing says so.

    It is the innermost operator, annotation, module or Python frame that holds four fifths of it.
    Frames by which torch only passes a call on do not count.

    Args:
        host: the host rows.
        thread: of each time, shape (s,).
        span: start and end of each, nanoseconds, shape (s, 2).
    """
    return event_names(host, activity_events(host, thread, span)) if len(span) else []


def event_names(host: HostRows, event: EventRow) -> list[str]:
    """Names of events as a person reads them; "" where there is none."""
    string = lookup(host.trace.events.name, event)
    return list(host.trace.strings.map(string, _name, object))


OPTIMIZER = "Optimizer."
CLOSURE = "closure of "
"""Before an optimizer's name: its row is open around a closure that it calls."""


def closure_of(name: str) -> str:
    """What a thread is in, inside of a closure: not the optimizer's own work."""
    return f"{CLOSURE}{name}" if name.startswith(OPTIMIZER) else name


def activity_events(
    host: HostRows, thread: ThreadIndex, span: Intervals, held: float = _HELD
) -> EventRow:
    """Event that `named_activity` names at each time, -1 for none, or that holds another share."""
    moments = span.sum(axis=1) // 2
    least = held * int((span[:, 1] - span[:, 0]).min(initial=_LONGEST))
    return rows_holding(host.trace, _naming(host, least, moments), thread, span, held)


def held_by(host: HostRows, event: EventRow, spans: Intervals) -> Intervals:
    """The part of each time that its event holds; the whole one for no event, -1."""
    events = host.trace.events
    around = np.stack([lookup(events.start, event), lookup(events.end, event)], axis=1)
    return np.where(event[:, None] >= 0, np.clip(around, spans[:, :1], spans[:, 1:]), spans)


def cut_by_activity(host: HostRows, thread: int, spans: TimeSet, share: float) -> TimeSet:
    """Cut times of a thread where events begin or end that take a share of all of them."""
    if not len(spans):
        return spans
    least = share * intervals.length(spans)
    trace = host.trace.events
    events = _naming(host, least)
    events = events[trace.thread[events] == thread]
    start = trace.start[events]
    moments = unique(np.concatenate([start, start + trace.duration[events]]))
    return intervals.cut(spans, moments)


def operators_within(
    host: HostRows, thread: int, spans: TimeSet, but: str = ""
) -> list[tuple[str, float]]:
    """Time of the outermost operators and ranges that a thread began in some times, by name.

    Args:
        host: the host rows.
        thread: the thread.
        spans: the times, in which they are counted.
        but: a name whose own rows are left out, as `named_activity` has it.
    """
    if not len(spans):
        return []
    events, tree = host.trace.events, host.call_tree
    rows = np.flatnonzero(isin(tree.event, host.naming) & (tree.thread == thread))
    place = np.searchsorted(spans[:, 0], tree.start[rows], side="right") - 1
    until = lookup(spans[:, 1], place)
    begun = (place >= 0) & (tree.start[rows] < until)
    rows, end = rows[begun], np.minimum(tree.end[rows], until)[begun]
    string, of_row = unique_inverse(events.name[tree.event[rows]])
    names = [_name(host.trace.strings[each]) for each in string.tolist()]
    others = np.array([name != but for name in names], bool)[of_row]
    rows, end, of_row = rows[others], end[others], of_row[others]
    order = np.lexsort((-tree.end[rows], tree.start[rows]))
    rows, end, of_row = rows[order], end[order], of_row[order]
    before = np.maximum.accumulate(np.append(0, end))[:-1]
    outermost = tree.start[rows] >= before
    length = np.bincount(of_row[outermost], (end - tree.start[rows])[outermost], len(names))
    return [found for found in zip(names, length.tolist(), strict=True) if found[1]]


def _naming(host: HostRows, least: float, moments: Nanoseconds | None = None) -> EventRow:
    """Host events whose names say what the host does (no steps, marks, calls), in any order.

    Args:
        host: the host rows.
        least: what they take at least, nanoseconds.
        moments: they hold one of these; None for all of them.
    """
    events = host.trace.events
    long = events.duration >= least
    named = host.naming[long[host.naming]]
    python = np.flatnonzero(long & (events.kind == EventCategory.PYTHON))
    if not len(python):
        return named
    if moments is not None:
        python = python[around_any(events.start[python], events.duration[python], moments)]
    python = python[host.trace.strings.map(events.name[python], _says_what, bool)]
    return np.concatenate([named, python])


def _says_what(name: str) -> bool:
    return is_frame(name) and not _PASSES_ON.fullmatch(name)


def _name(text: str) -> str:
    """Name of an event as a person reads it: `function in file.py(line)` for a frame."""
    if is_frame(text) and (frame := _FRAME.fullmatch(text)):
        return f"{frame['function']} in {frame['file']}"
    for role in MODULE_ROLES:
        if (module := module_name(text, role)).path != text:
            return module_label(module.path)
    return node_name(text)


# Recorded inputs of operators: shapes and data types.


_BYTES = {
    "complexdouble": 16,
    **dict.fromkeys(("double", "long", "longint", "complexfloat"), 8),
    **dict.fromkeys(("float", "int"), 4),
    **dict.fromkeys(("half", "bfloat16", "short"), 2),
    **dict.fromkeys(("bool", "byte", "char", "unsignedchar", "signedchar"), 1),
}
"""By the name in lower case without signs. Those of 8 bits begin with float8."""


@cache
def width(dtype: str) -> int:
    """Bytes of an element; 0 for unknown.

    Operators write C++ types (`c10::BFloat16`, `long int`), collectives torch's (`BFloat16`).
    """
    name = re.sub(r"[^a-z0-9]", "", dtype.lower().removeprefix("c10::"))
    return 1 if name.startswith("float8") else _BYTES.get(name, 0)


class Input(NamedTuple):
    """One input of a call."""

    shape: list[Any]
    """`[]` for what is no tensor."""
    type: str
    """As torch writes it: "float", "c10::Half", ...; "Scalar" or "" for what is no tensor."""
    value: str
    """What is no tensor, as torch writes it: "[1, 1]", "False"; "" for unknown."""


def inputs_of_call(texts: StringTable, shapes: int, types: int, values: int = 0) -> list[Input]:
    """Inputs of a call, by the indices of its arguments in the texts; empty where damaged."""
    columns = decoded_list(texts[shapes]), decoded_list(texts[types])
    if any(column is None for column in columns):
        return []
    found = [
        (shape if isinstance(shape, list) else [], kind if isinstance(kind, str) else "")
        for shape, kind in zip(*columns, strict=False)  # type: ignore[arg-type]
    ]
    given = [value if isinstance(value, str) else "" for value in decoded_list(texts[values]) or []]
    given += [""] * (len(found) - len(given))
    return [Input(*each, value) for each, value in zip(found, given, strict=False)]


def decoded_list(text: str) -> list[Any] | None:
    """The list that a text of JSON is, None for any other."""
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return decoded if isinstance(decoded, list) else None


# Operators: which rows are some, and the threads' processor time in them.


_NO_OPERATORS = (*MARK_ROLES, Role.UNKNOWN_MARK, Role.MODULE_LABEL)


class OperatorRows(Struct, frozen=True):
    """Operators, annotations and runtime calls; columns over rows of the call tree."""

    named: Bool
    """Rows that count: operators and annotations, no marks of the recorder."""
    above: TreeRow
    """Innermost row around each that counts, -1 for none."""
    within: TreeRow
    """Row whose time each takes: `above`, or of a call on an early clock the one of its middle."""
    repeats: Bool
    """Rows that are one call with the row above them."""
    self_host: Nanoseconds
    """Duration less that of the rows inside, runtime calls included; 0 for runtime calls."""


def operator_rows(host: HostRows) -> OperatorRows:
    """Find the rows that are calls of operators and annotations."""
    call_tree = host.call_tree
    named = host.operators_and_annotations & ~isin(host.role, _NO_OPERATORS)
    timed = named | (host.kind == EventCategory.RUNTIME)
    above = call_tree.nearest_above(timed)
    above[~timed] = -1
    above, within = _around_calls(host, named, above)
    children = np.bincount(within + 1, minlength=len(host) + 1)[1:]
    operator, number = host.kind == EventCategory.OPERATOR, host.trace.events.external
    rows = np.flatnonzero(named & operator & (above >= 0))
    of = above[rows]
    alike = (children[of] == 1) & operator[of] & (host.string[of] == host.string[rows])
    # One with a lower number began before it, in the same microsecond of a coarse clock.
    alike &= number[call_tree.event[rows]] >= number[call_tree.event[of]]
    repeats = mask_of(rows[alike], len(host))
    self_host = self_time(call_tree.start, call_tree.end, within)
    return OperatorRows(named, above, within, repeats, self_host)


_CALL = re.compile(r"cuda|hip|cu[A-Z]")
"""Names of calls of CUDA and HIP, which run no operators; those of other runtimes may."""


def _around_calls(host: HostRows, named: Bool, above: TreeRow) -> tuple[TreeRow, TreeRow]:
    """`OperatorRows.above` and `within`, from the innermost row around each.

    An operator that begins during a call, as far as times say, is on another clock than that.
    """
    tree = host.call_tree
    call = host.is_named(_CALL.match) & (host.kind == EventCategory.RUNTIME)
    rows = np.flatnonzero(named & (above >= 0))
    rows = rows[call[above[rows]]]
    if not len(rows):
        return above, above
    calls, above = unique(above[rows]), above.copy()
    while len(rows):
        around = above[rows] = above[above[rows]]
        passed = call[around] | (tree.end[around] <= tree.start[rows])
        rows = rows[(around >= 0) & passed]
    within, middle = above.copy(), (tree.start[calls] + tree.end[calls]) // 2
    found = innermost_at(tree, tree.thread[calls], middle)
    within[calls] = np.where(lookup(named, found) == 1, found, lookup(above, found))
    return above, within


_ON_CPU = re.compile(
    r"aten::(_slow_conv2d_|slow_conv3d)|sgl-kernel::"
    r"|\w+::(\w*_)?(?<!to_)(cpu|mkldnn|nnpack|onednn)(_(?!to_)|$)"
)
"""torch's own loops, and names that say it; a device has convolutions and attention of its own.

CUDA without cuDNN has `_slow_conv2d`, too, and returns from it as soon as it is launched. Ranges of
`sgl-kernel` with a hyphen are those of its code for the CPU, which vLLM has too.
"""
_GIVES_WORK = re.compile(r"^(cu|hip|mu|ur|ze|xpu|mcc)\w*(Launch|Mem|Copy|Execute)|Kernel")
"""In names of calls that run something on a device, or make memory of it."""
_MOST = 0.5
"""Share of the operators' time from which on such operators are the model, and not its inputs."""


def runs_on_cpu(host: HostRows, operators: OperatorRows, in_backward: Bool) -> bool:
    """Whether the model runs on the CPU: by the threads of its backward, or its operators.

    Where the backward is evaluated decides: nodes of a device have a thread of their own, those of
    the CPU that which calls the backward. Where most of it was not recorded, one operator in it
    that says where it runs is proof, as preprocessing has no backward. Where calls of a device's
    runtime were recorded, any such operator is, if none of the calls gives a device work. Where no
    memory of a device was allocated, operators that allocate the host's say so, too.

    Args:
        host: rows of a trace without device events.
        operators: which of them are operators.
        in_backward: rows inside autograd nodes, shape (n,).
    """
    recorded = calls_runtime(host)
    if recorded and len(host.named(_GIVES_WORK.search)):
        return False
    called = operators.named & (host.kind == EventCategory.OPERATOR)
    proves = called & host.is_named(_ON_CPU.match)
    own = _evaluates_own_forward(host, in_backward)
    if own is not None:
        return own
    if (proves & in_backward).any():
        return True
    known = called & ~in_backward
    proven = known & host.call_tree.inside(proves | (called & _allocates_on_host(host)))
    time = operators.self_host
    most = 0.0 if recorded else _MOST
    return bool(proven.any() and time[proven].sum() >= most * time[known].sum())


def _allocates_on_host(host: HostRows) -> Bool:
    """Rows in which memory of the host was allocated, where none of a device was; shape (n,)."""
    memory = host.trace.memory
    if (memory.device_type > _CPU_MEMORY).any():
        return np.zeros(len(host), bool)
    made = memory.amount > 0
    row = innermost_at(host.call_tree, memory.thread[made].astype(np.int64), memory.time[made])
    return mask_of(row[row >= 0], len(host))


def _evaluates_own_forward(host: HostRows, in_backward: Bool) -> bool | None:
    """Whether most nodes are evaluated by the threads whose operators made them.

    None where the nodes of most operators are not in the trace, or none made any.
    """
    forward = (host.kind == EventCategory.OPERATOR) & (host.sequence >= 0) & ~in_backward
    nodes = (host.role == Role.NODE) & (host.sequence >= 0)
    key = pair_key(host.call_tree.thread, host.sequence)
    made, evaluated = unique(host.sequence[forward]), unique(host.sequence[nodes])
    if 2 * np.count_nonzero(isin(made, evaluated)) < max(len(made), 1):
        return None
    return bool(isin(unique(key[nodes]), key[forward]).mean() > _MOST)


_OF_DEVICES = re.compile(
    "cudnn(?!_is_acceptable)|miopen|_thnn_fused_|_(efficient|flash)_attention_(for|back)ward|"
    "_scaled_dot_product_(efficient_attention|flash_attention(?!_for_cpu))"
)
"""In names of operators that no CPU runs; recurrent layers of the CPU ask whether cuDNN may."""
_CPU_MEMORY = 0
"""torch's `DeviceType`."""


def calls_runtime(host: HostRows) -> bool:
    """Whether any call of a device's runtime was recorded."""
    return bool((host.trace.events.kind == EventCategory.RUNTIME).any())


def only_of_devices(host: HostRows) -> int:
    """Count the operators and memory events that only a device has."""
    memory = host.trace.memory
    on_device = (memory.device_type != _CPU_MEMORY) & (memory.amount != 0)
    operators = host.kind[host.named(_OF_DEVICES.search)] == EventCategory.OPERATOR
    return int(np.count_nonzero(on_device) + np.count_nonzero(operators))


# Ranges by which schedules of pipelines mark the forward and the backward of a microbatch, and
# torch's wrappers their forward.
#
# The nodes of a forward in the window of a recording may be evaluated after it, and chunks of the
# backward may run outside of autograd's engine: there these ranges are all that shows the phase. A
# convention of pipelines counts where the trace has ranges of both directions.


_CONVENTIONS = (
    # DualPipe: `attn(F)`; (W) is the gradient of weights
    (r".+\(F\)", r".+\([BW]\)"),
    # Megatron's timers
    (r"forward-compute", r"backward-compute"),
    # torch.distributed.pipelining: single stages, then schedules of several (I: of inputs)
    (r"Forward \d+", r"Backward \d+"),
    (r"PP:\d+F\d*", r"PP:\d+[BIW]\d*"),
)


_WRAPPERS = re.compile(
    r"(Distributed)?DataParallel\.forward|FSDP::(root_)?(pre|post)_forward.*"
    r"|FullyShardedDataParallel\.(forward|_(root_)?(pre|post)_forward)"
)
"""Ranges of torch's that are the forward, or gather parameters for it."""
_AFTER_BACKWARD = "FSDP::root_post_backward_callback"
"""Range outside of nodes in which FSDP2 reduces the last gradients, called by autograd's engine."""
_MICROBATCH = re.compile(
    r"PP:(?P<stage>\d+)(?P<letter>[FBIW])(?P<n>\d*)|(Forward|Backward) (?P<number>\d+)"
    r"|(forward|backward)-compute"
)
"""Names of ranges of which each is the work on one microbatch in one stage."""
_FORWARD = re.compile(r"PP:\d+F\d*|[Ff]orward.*")


class MicrobatchRanges(NamedTuple):
    """Ranges that are the work of a stage on one microbatch each, in order; shape (k,)."""

    row: TreeRow
    stage: Int
    """As the range names it, -1 where it does not."""
    number: Int
    """Microbatch as the range names it, -1 where it does not."""
    backward: Bool

    @property
    def forward_rows(self) -> TreeRow:
        """Those of the forward."""
        return self.row[~self.backward]


def microbatch_ranges(host: HostRows) -> MicrobatchRanges:
    """Find the ranges that are the work of a stage on one microbatch each."""
    rows = host.named(lambda name: _MICROBATCH.fullmatch(name) is not None)
    rows = rows[host.role[rows] == Role.LABEL]
    names, of_row = unique_inverse(host.string[rows])
    texts = [host.trace.strings[each] for each in names.tolist()]
    found = [_MICROBATCH.fullmatch(text) for text in texts]
    stages = [_number(each and each["stage"]) for each in found]
    numbers = [_number(each and (each["n"] or each["number"])) for each in found]
    backward = [_FORWARD.fullmatch(text) is None for text in texts]
    stage, number = (np.array(each, np.int64)[of_row] for each in (stages, numbers))
    return MicrobatchRanges(rows, stage, number, np.array(backward, bool)[of_row])


def _number(text: str | None) -> int:
    return int(text) if text else -1


def phase_ranges(host: HostRows) -> tuple[Bool, Bool]:
    """Ranges of the forward and of the backward among the rows of the call tree, shape (n,)."""
    labels = host.role == Role.LABEL
    names = {string: host.trace.strings[string] for string in unique(host.string[labels]).tolist()}
    wrappers = [s for s, text in names.items() if _WRAPPERS.fullmatch(text)]
    forward = labels & isin(host.string, wrappers)
    backward = labels & isin(
        host.string, [s for s, text in names.items() if text == _AFTER_BACKWARD]
    )
    for ahead, back in _CONVENTIONS:
        both = [[s for s, text in names.items() if re.fullmatch(p, text)] for p in (ahead, back)]
        if all(both):
            forward |= labels & isin(host.string, both[0])
            backward |= labels & isin(host.string, both[1])
    return forward, backward
