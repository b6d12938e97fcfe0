"""What the host was doing while a device idled: names, operators, inputs, remedies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.compiled.graphs import is_generated
from tb_hookview.analysis.host.activity import (
    activity_events,
    event_names,
    held_by,
    inputs_of_call,
    operators_within,
)
from tb_hookview.analysis.host.rows import Role, node_name
from tb_hookview.analysis.python_functions import in_python, is_native
from tb_hookview.analysis.unseen_modules import unseen_modules
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import (
    isin,
    mask_of,
    median,
    pair_key,
    scatter,
    unique,
    unique_inverse,
)
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import least_by, ranges
from tb_hookview.arrays.types import (
    Bool,
    EventRow,
    GapIndex,
    Int,
    Intervals,
    ModuleIndex,
    Nanoseconds,
    StringIndex,
    ThreadIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.formats import format_kernel, format_us
from tb_hookview.rules.engine.by_place import place_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.trace import EventCategory

# What the host was doing while a device idled, by the names that the trace has.


LONG_NS = 1_000_000
"""Gaps from this length on are no pace of launches: no operator takes that long to launch."""
HELD_UP = 10
"""Times as long as the median of its name that an operator takes which something held up."""


_SCRIPT = "<module> in "
_IN_SCRIPT = 0.6
"""Share of a gap that an event in a script's outermost frame, which says little, holds to name
it."""
_STEPS = 3
"""Fewest measured steps among which what one of them has is no cost of each."""


def steps_with(context: Context, times: Nanoseconds) -> int:
    """Number of steps in which some times lie."""
    return len(unique(context.analysis.steps.at(times)))


def in_one_step(context: Context, times: Nanoseconds) -> bool:
    """Whether some times of measured steps all lie in one of three or more."""
    return len(context.steps) >= _STEPS and steps_with(context, times) == 1


def held_up(context: Context, gaps: GapIndex) -> Bool:
    """Gaps mostly in an operator that took `HELD_UP` times as long as its name does, shape (g,).

    Not in the first call of a name, in which a library may start.
    """
    if not len(gaps):
        return np.zeros(0, bool)
    events = context.analysis.trace.events
    event = activity_events(context.host, *_threads_in(context, gaps))
    operators = np.flatnonzero(events.kind == EventCategory.OPERATOR)
    string, length = events.name[operators], events.duration[operators]
    names = lookup(events.name, np.where(isin(event, operators), event, -1))
    usual, first = np.zeros(len(gaps)), np.zeros(len(gaps), bool)
    for name in unique(names[names >= 0]).tolist():
        mine, calls = names == name, operators[string == name]
        usual[mine] = median(length[string == name])
        first[mine] = event[mine] == calls[events.start[calls].argmin()]
    took = lookup(events.duration, event)
    return np.asarray((names >= 0) & (took > HELD_UP * usual) & ~first)


def _threads_in(context: Context, gaps: GapIndex) -> tuple[ThreadIndex, Intervals]:
    """Launching thread of each gap, and the gap's start and end."""
    table = context.analysis.gaps
    thread = lookup(context.call_tree.thread, launches_after(context, gaps))
    return thread, np.stack([table.start[gaps], table.end[gaps]], axis=1)


def uncut(context: Context, gaps: GapIndex) -> tuple[Intervals, Int]:
    """Some gaps (ascending) with those that only the bounds of steps part as one.

    Returns:
        Start and end of each, shape (k, 2); the one that each gap is of, shape (g,).
    """
    table = context.analysis.gaps
    number = table.uncut[gaps]
    numbers, place = unique_inverse(number)
    first = gaps[np.searchsorted(number, numbers)]
    last = gaps[np.searchsorted(number, numbers, side="right") - 1]
    return np.stack([table.start[first], table.end[last]], axis=1), place


def activity_in(context: Context, gaps: GapIndex) -> list[str]:
    """What the launching thread was in for most of each gap, as `named_activity`, but that three
    fifths of it are enough in the outermost frame of a script.

    Gaps that only the bounds of steps part have one name.
    """
    return event_names(context.host, _activity(context, gaps))


def held_by_activity(context: Context, gaps: GapIndex) -> Int:
    """Time of each gap in the event that names it (`activity_in`), nanoseconds; all for none."""
    table = context.analysis.gaps
    spans = np.stack([table.start[gaps], table.end[gaps]], axis=1)
    return np.diff(held_by(context.host, _activity(context, gaps), spans), axis=1)[:, 0]


def _activity(context: Context, gaps: GapIndex) -> EventRow:
    spans, place = uncut(context, gaps)
    thread = np.empty(len(spans), np.int64)
    thread[place] = lookup(context.call_tree.thread, launches_after(context, gaps))
    event = activity_events(context.host, thread, spans)
    names = event_names(context.host, event)
    script = np.array([name.startswith(_SCRIPT) for name in names], bool)
    event[script] = activity_events(context.host, thread[script], spans[script], _IN_SCRIPT)
    return event[place]


def operators_in(context: Context, gaps: GapIndex, name: str) -> Counter[str]:
    """Time of the outermost operators and ranges that threads began in gaps, nanoseconds.

    Args:
        context: the steps.
        gaps: of the cause LAUNCH.
        name: what the launching threads were in (`activity_in`): of these alone, what is in it;
            where it is empty, of all threads.
    """
    table, found = context.analysis.gaps, Counter[str]()
    thread = lookup(context.call_tree.thread, launches_after(context, gaps))
    threads = thread[thread >= 0] if name else context.call_tree.thread
    for each in unique(threads).tolist():
        mine = gaps[thread == each] if name else gaps
        spans = intervals.of(table.start[mine], table.end[mine])
        for inner, time in operators_within(context.host, each, spans, name):
            found[inner] += int(time)
    return found


def event_after(context: Context, gaps: GapIndex) -> str:
    """Phrase of the device events before which most of the time of some gaps lies."""
    names, place = _names_after(context, gaps)
    most = int(names[np.bincount(place, context.analysis.gaps.duration[gaps]).argmax()])
    if most < 0:
        return "after the last device event"
    return f"before {format_kernel(context.analysis.trace.strings[most])}"


_ALL = 0.95
"""Part of the time of some gaps from which on it is all of it."""


def user_kernel_after(context: Context, gaps: GapIndex) -> str:
    """Name of the user-defined Triton kernel, launched in compiled code, before which all of the
    time of some gaps lies, "" for none.

    Inductor puts a row around each launch, of the name of the kernel and a number.
    """
    names, place = _names_after(context, gaps)
    time = np.bincount(place, context.analysis.gaps.duration[gaps])
    most = int(time.argmax())
    if names[most] < 0 or time[most] < _ALL * time.sum():
        return ""
    name = context.analysis.trace.strings[int(names[most])]
    around = context.rows.matching(rf"^{re.escape(name)}_\d+$") & compiled_code(context)
    launch = launches_after(context, gaps[place == most])
    launched = lookup(context.rows.inside(around), launch) == 1
    return "" if is_generated(name) or not launched.all() else name


def _names_after(context: Context, gaps: GapIndex) -> tuple[Int, Int]:
    """Distinct names of the device events after some gaps, -1 for none, and which each gap has."""
    event = lookup(context.analysis.device_events.event, context.analysis.gaps.device_event[gaps])
    return unique_inverse(lookup(context.analysis.trace.events.name, event))


def launches_after(context: Context, gaps: GapIndex) -> TreeRow:
    """As `Gaps.launch_after`."""
    return context.analysis.gaps.launch_after(context.analysis.device_events, gaps)


def launched_places(context: Context, gaps: GapIndex) -> str:
    """What the launches that ended gaps were for, most idle time first, as a phrase; and operators
    that the host was in before, where it was in such for much of the time.

    Modules, annotations where these stand for modules, operators, and calls in none of these. An
    annotation is around the forward alone: what is launched for it in nodes is its backward.
    """
    trace, modules = context.analysis.trace, context.analysis.modules
    launch = launches_after(context, gaps)
    module, string = place_of(context, launch)
    inside, alone = module >= 0, lookup(context.host.string, launch) == string
    apart = (lookup(context.analysis.row_node, launch) >= 0) & lookup(modules.annotation, module)
    lists: dict[str, list[tuple[str, float]]] = {"modules": [], "annotations": []}
    for pair, time in _times(context, gaps[inside], (2 * module + apart)[inside]):
        number, back = divmod(pair, 2)
        what = "annotations" if modules.annotation[number] else "modules"
        label = schema.module_label(modules.path[number])
        lists[what].append((f"{label} in the backward" if back else label, time))
    for what, chosen in (("operators", ~alone), ("calls", alone)):
        times = _times(context, gaps[chosen], string[chosen])
        lists[what] = [(node_name(trace.strings[number]), time) for number, time in times]
    named = " and ".join(
        f"{what} {_largest(context, times)}" for what, times in lists.items() if times
    )
    return named + _in_operators_before(context, gaps)


_NAMED = 3
"""Modules, and operators, that a phrase names."""
_STILL = 0.25
"""Part of gaps with the host still in operators before from which on these are named."""


def _in_operators_before(context: Context, gaps: GapIndex) -> str:
    """Operators that the host was in during some gaps, but for those that ended each.

    Returns:
        A phrase; "" where the host was not in such operators for much of the time.
    """
    table, tree = context.analysis.gaps, context.call_tree
    launch, rows = launches_after(context, gaps), context.rows.outermost_operators
    ended, thread = context.rows.outermost_operator_of(launch), lookup(tree.thread, launch)
    time = Counter[str]()
    for each in unique(thread[thread >= 0]).tolist():
        mine, operators = gaps[thread == each], rows[tree.thread[rows] == each]
        first = np.searchsorted(tree.end[operators], table.start[mine], side="right")
        at, place = ranges(first, np.searchsorted(tree.start[operators], table.end[mine]))
        gap, operator = mine[place], operators[at]
        held = np.minimum(tree.end[operator], table.end[gap])
        held -= np.maximum(tree.start[operator], table.start[gap])
        held[operator == ended[thread == each][place]] = 0
        strings, place = unique_inverse(context.host.string[operator])
        for string, length in zip(strings, np.bincount(place, held), strict=True):
            time[node_name(context.analysis.trace.strings[int(string)])] += int(length)
    if time.total() <= _STILL * table.duration[gaps].sum():
        return ""
    total = format_us(context.steps.us_per_step(time.total()))
    named = context.listed((+time).most_common(_NAMED))
    return f"; for {total} of these the host was still in operators before: {named}"


def _times(context: Context, gaps: GapIndex, group: Int) -> list[tuple[int, float]]:
    """Number and time of each group of gaps, nanoseconds, by its first launch."""
    numbers, place = unique_inverse(group)
    time = np.bincount(place, context.analysis.gaps.duration[gaps])
    begun = context.call_tree.start[launches_after(context, gaps)]
    order = np.argsort(least_by(place, begun, len(numbers)), kind="stable")
    return list(zip(numbers[order].tolist(), time[order].tolist(), strict=True))


def _largest(context: Context, times: list[tuple[str, float]]) -> str:
    whole: Counter[str] = Counter()
    for name, time in times:
        whole[name] += time  # type: ignore[assignment]  # whole nanoseconds
    return context.listed(whole.most_common(_NAMED))


# Work of a host thread where the model runs on the CPU: operators, and calls around them.


_COMPILED = re.compile(r"Torch-Compiled Region|## Call CompiledFxGraph|Compiled\w*Backward")


def computing(context: Context) -> Bool:
    """Rows of code that is not Python's: operators, C++ nodes and compiled code, shape (n,).

    A node that is written in Python, and a range that somebody put around code, are not.
    """
    native = context.host.operators & context.rows.passing(is_native)
    return np.asarray(native | _compiled(context))


def _compiled(context: Context) -> Bool:
    return context.rows.passing(lambda name: _COMPILED.match(name) is not None)


def units(context: Context) -> Bool:
    """Outermost rows of what computes, and autograd nodes whole; in measured steps.

    A node that runs a backward of its own (a reentrant checkpoint) is not one: its parts are.
    """
    nodes = context.analysis.nodes
    whole = computing(context) | (context.host.role == Role.NODE)
    whole[nodes.row[nodes.around[nodes.around >= 0]]] = False
    above = lookup(context.rows.inside(whole), context.call_tree.parent)
    return np.asarray(whole & (above != 1) & context.rows.counted)


def units_of_python_nodes(context: Context) -> Bool:
    """Outermost rows of what computes in autograd nodes that are written in Python."""
    own = computing(context)
    inside = lookup(in_python(context.analysis), context.analysis.row_node)
    above = lookup(context.rows.inside(own), context.call_tree.parent)
    return np.asarray(own & (inside == 1) & (above != 1) & context.rows.counted)


def unit_names(context: Context, rows: Int) -> StringIndex:
    """Name of each unit, as an index into the trace's strings; equal for nodes of one name."""
    string, texts = context.host.string[rows], context.analysis.trace.strings
    number = {node_name(texts[each]): each for each in unique(string).tolist()}
    same = {each: number[node_name(texts[each])] for each in unique(string).tolist()}
    table = np.zeros(len(texts), np.int64)
    table[list(same)] = list(same.values())
    return np.asarray(table[string])


def without_operators(context: Context, thread: int) -> TimeSet:
    """Time of a thread, in measured steps, in no operator, loader or collective."""
    known = computing(context) | (context.host.role == Role.DATA)
    known |= context.host.role == Role.COLLECTION
    rows = np.flatnonzero(known & (context.call_tree.thread == thread))
    tree = context.call_tree
    steps = intervals.normal(context.steps.windows)
    left = intervals.subtract(steps, tree.time_of(rows))
    return intervals.subtract(left, context.analysis.communication_waits)


_SIBLINGS = 3
"""Modules from which on one of them can differ from the others."""
_NUMBER = re.compile(r"\d+")


def siblings(context: Context) -> list[ModuleIndex]:
    """Modules of one class, at places that differ by numbers alone, with equal parameters.

    Those whose calls are not seen are left out.
    """
    modules, manifest = context.analysis.modules, context.analysis.trace.manifest
    unseen = unseen_modules(context.analysis)
    listed = manifest.modules if manifest is not None else ()
    own = {each.path: each.parameters or 0 for each in listed}
    sizes = modules.rolled_up(np.array([own.get(path, 0) for path in modules.path], np.int64))
    found: dict[tuple[str, str, int], list[int]] = {}
    for number, (path, cls) in enumerate(zip(modules.path, modules.module_class, strict=True)):
        if sizes[number] and not unseen[number]:
            key = (_NUMBER.sub("#", path), cls, int(sizes[number]))
            found.setdefault(key, []).append(number)
    return [np.array(group, np.int64) for group in found.values() if len(group) >= _SIBLINGS]


# Remedies for long work of the host, by what the trace names it.


_DDP = re.compile(r"aten::(un)?flatten_dense_tensors|DistributedDataParallel\.forward")
_OPTIMIZER = re.compile(
    r"Optimizer\.|aten::_foreach_|aten::_fused_|\w+ in (_adafactor|_muon|adadelta|adagrad|adam"
    r"|adamax|adamw|asgd|lbfgs|nadam|optimizer|radam|rmsprop|rprop|sgd|sparse_adam)\.py\("
)
_COMPILED_HOST_REMEDIES = re.compile(
    r"call in c[a-z2-7]{51}\.py\(\d+\)|Torch-Compiled Region|CompiledFunction"
    r"|## Call CompiledFxGraph|TorchDynamo Cache Lookup"
)
_RANDOM = re.compile(r"aten::(normal|uniform|random|bernoulli|exponential)_|aten::(rand|randn)\b")
_VIEW = re.compile(
    r"aten::(as_strided|chunk|expand|flatten|narrow|permute|reshape|select|slice|split\w*|squeeze"
    r"|t|tensor_split|transpose|unbind|unflatten|unsafe_split\w*|unsqueeze|view\w*)$"
)
_OPERATOR = re.compile(r"\w+::")
"""An operator of torch or of an extension."""

_STACKS = "Record with with_stack=True, which names Python functions. "
_UNNAMED = (
    "Look for hooks in Python, garbage collection, and threads or processes that compete for the "
    "cores."
)
_REMEDIES = (
    (
        _DDP,
        "DistributedDataParallel copies the running statistics of batch norms, and other buffers, "
        "to all ranks before each forward. Pass broadcast_buffers=False where ranks may differ in "
        "them. Have fewer buffers, or convert the batch norms to SyncBatchNorm.",
    ),
    (
        _OPTIMIZER,
        "Pass fused=True to the optimizer, which updates all parameters in a few calls, or "
        "foreach=True where it has no fused form. Keep hooks of the optimizer and logging out of "
        "its step.",
    ),
    (
        _COMPILED_HOST_REMEDIES,
        "This is torch.compile's own code: guards, and what it wrote around its kernels. Have "
        'fewer, larger regions. Replay the kernels from a CUDA graph (mode="reduce-overhead"), or '
        "have the code written in C++ (torch._inductor.config.cpp_wrapper = True). Look for "
        "threads or processes that compete for the cores.",
    ),
    (
        _RANDOM,
        "If it fills a tensor on the host, make it on the device (device= of torch.randn and the "
        "like, or .normal_() of a tensor there), once if it may be the same in each step. If it "
        "only launches, look for threads or processes that compete for the cores.",
    ),
    (
        _VIEW,
        "Views launch nothing and cost host time only: take fewer of them (one reshape or unbind "
        "instead of a slice each), or compile the code around them. Where operators of one name "
        "lie in one another, a tensor subclass or a mode runs each of them in Python.",
    ),
    (
        _OPERATOR,
        "If it computes on the host, move its inputs to the device or do it less often. If it only "
        "launches, something holds it up: look for threads or processes that compete for the "
        "cores, and for locks. with_stack=True names the Python function that calls it.",
    ),
)


OF_USER_KERNEL = (
    "Look at what prepares the arguments of the Triton kernel: make host-side tensor descriptors "
    "once, not for each launch, and look at hooks (pre_hook) and at autotuning. The profiler's "
    "record of the arguments may take that time, too: compare with the time of steps that are not "
    "recorded."
)


def remedy_for(name: str, *, with_stacks: bool) -> str:
    """What helps against host work of a name (see `activity_in`); "" for the rule's own fix."""
    if not name:
        return _UNNAMED if with_stacks else _STACKS + _UNNAMED
    return next((fix for pattern, fix in _REMEDIES if pattern.match(name)), "")


def is_operator(name: str) -> bool:
    """Whether a name is that of an operator."""
    return _OPERATOR.match(name) is not None


# Shapes and types of operators' inputs, where the trace was recorded with them.


Inputs = list[tuple[list[Any], str]]
"""Shape and type of each input; `[]` and "" for what is no tensor."""


def inputs_of(context: Context, rows: TreeRow) -> tuple[list[Inputs], Int]:
    """Inputs of some call tree rows.

    Returns:
        Distinct inputs, and the index into them of each row's; -1 without recorded shapes and
        types, and for row -1.
    """
    events, texts = context.analysis.trace.events, context.analysis.trace.texts
    event = lookup(context.call_tree.event, rows)
    shapes, types = (lookup(column, event) for column in (events.shapes, events.types))
    known = (shapes > 0) & (types > 0)
    distinct, place = unique_inverse(pair_key(shapes[known].astype(np.int64), types[known]))
    index = scatter(known, place, len(rows))
    pairs = (divmod(pair, 1 << 32) for pair in distinct.tolist())
    calls = (inputs_of_call(texts, *pair) for pair in pairs)
    return [[(each.shape, each.type) for each in call] for call in calls], index


def with_inputs(context: Context, wanted: Bool, test: Callable[[Inputs], bool]) -> Bool:
    """Whether the inputs of each of some rows pass a test. It is run once for equal inputs.

    Rows without recorded shapes and types do not pass.
    """
    rows = np.flatnonzero(wanted)
    distinct, index = inputs_of(context, rows)
    passes = np.array([*map(test, distinct), False], bool)
    found = np.zeros(len(wanted), bool)
    found[rows] = passes[index]
    return found


def with_value(context: Context, wanted: Bool, place: int, value: str) -> Bool:
    """Whether an input of each of some rows, at a place from 0, was recorded with a value."""
    events, texts = context.analysis.trace.events, context.analysis.trace.texts
    rows = np.flatnonzero(wanted)
    event = context.call_tree.event[rows]
    columns = zip(events.shapes[event], events.types[event], events.concrete[event], strict=True)
    calls = [tuple(map(int, each)) for each in columns]
    values = {each: [one.value for one in inputs_of_call(texts, *each)] for each in set(calls)}
    found = np.zeros(len(wanted), bool)
    found[rows] = [values[each][place : place + 1] == [value] for each in calls]
    return found


def types_with(context: Context, wanted: Bool, word: str) -> Bool:
    """Those of some rows of the call tree whose recorded input types contain a word."""
    texts, types = context.analysis.trace.texts, context.analysis.trace.events.types
    rows = np.flatnonzero(wanted)
    mine = types[context.call_tree.event[rows]]
    held = mask_of(mine, len(texts))
    held[[text for text in np.flatnonzero(held).tolist() if word not in texts[text]]] = False
    return mask_of(rows[held[mine]], len(wanted))


# Regions of code that torch.compile made, and calls of the graphs in them.
#
#     thread  [Torch-Compiled Region: 0/0                                           ]
#               [CompiledFunction]  aten::item  [lookup] [Torch-Compiled Region: 1/0]
#                                                           [CompiledFunction      ]
#
# A region is the code of one function, graph/variant. Where the graph breaks, it runs Python and
# then calls the rest of the function, which is a region of its own inside.


REGION = r"^Torch-Compiled Region: (\d+)/(\d+)"
_GRAPHS = ("CompiledFunction", "## Call CompiledFxGraph")
LOOKUP = "TorchDynamo Cache Lookup"


def regions(context: Context) -> Bool:
    """Compiled regions in measured steps, shape (n,)."""
    return context.rows.beginning("Torch-Compiled Region: ") & context.rows.counted


def graph_calls(context: Context) -> Bool:
    """Calls of the graphs in compiled regions, shape (n,)."""
    return context.rows.beginning(*_GRAPHS)


def compiled_code(context: Context) -> Bool:
    """Rows that are, or lie in, compiled code, its backward included; shape (n,)."""
    wanted = context.rows.beginning("CompiledFunction", "Torch-Compiled Region")
    return context.rows.inside(wanted | graph_calls(context) | _compiled(context))


def region_around(context: Context) -> TreeRow:
    """Compiled region whose Python code runs each row, -1 for none and inside a graph."""
    region, call = regions(context), graph_calls(context)
    around = context.call_tree.nearest_above(region | call)
    around[(around >= 0) & ~region[around]] = -1
    return around


def mostly_before_compiled_code(context: Context, gaps: GapIndex) -> bool:
    """Whether most of the time of some gaps of the cause LAUNCH ended with a compiled launch."""
    time = context.analysis.gaps.duration[gaps]
    compiled = np.append(compiled_code(context), False)[launches_after(context, gaps)]
    return 2 * int(time[compiled].sum()) > int(time.sum())
