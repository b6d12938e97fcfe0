"""Rules about compiled code: breaks, guards, and what could be compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import dense_rank, isin, mask_of, pair_key, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, StringIndex, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import OPERATOR, UNKNOWN
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import (
    LOOKUP,
    compiled_code,
    graph_calls,
    region_around,
    regions,
)
from tb_hookview.rules.evidence.optimizer import fix_of_gaps
from tb_hookview.schema import module_label
from tb_hookview.trace import EventCategory
from tb_hookview.trace.format.compiled_graphs import GraphBreak

# Graph breaks: compiled code that runs Python and goes on in another compiled region.


_REST = "torch_dynamo_resume_in_"
_RESUME = re.compile(rf"(.+)\(\d+\): {_REST}(.+)_at_(\d+)")
"""Frame of the rest of a function, with the line that broke its graph."""
_BY_DESIGN = "torch/optim/"
"""Where torch itself breaks the graph of an optimizer's step, which nobody else can remove."""
_LISTED = 3


def _find_graph_break(context: Context) -> Iterator[Occurrence]:
    if not regions(context).any():
        return
    around = region_around(context)
    inner = _rests(context, around)
    if not len(inner):
        return
    string = context.host.string
    frame = _frames(context, inner)
    texts = context.analysis.trace.strings
    rest = texts.map(frame, lambda text: not text or _REST in text, bool)
    inner, frame = inner[rest], frame[rest]
    key = pair_key(np.where(frame >= 0, frame, string[inner]), string[around[inner]])
    pairs, group = unique_inverse(key)
    breaks: dict[str, list[int]] = {}
    for number in range(len(pairs)):
        first = int(np.argmax(group == number))
        row, outer = int(inner[first]), int(around[inner[first]])
        place = _place(context, outer, int(frame[first])) or _codes(context, outer, row)
        if not place.startswith(_BY_DESIGN):
            breaks.setdefault(place, []).append(number)
    for numbers in breaks.values():
        members = isin(group, numbers)
        yield _occurrence(context, inner[members], around[inner[members]], frame[members])


def _rests(context: Context, around: TreeRow) -> TreeRow:
    """Regions that are the rest of the function of the one around them: the last that this runs.

    Others are of functions that it calls, as are those in calls of modules: no break.
    """
    tree, module_call = context.call_tree, context.analysis.module_calls.innermost
    inner = np.flatnonzero(regions(context) & (around >= 0))
    outer = around[inner]
    last = tree.subtree_end[inner] == tree.subtree_end[outer]
    rests: TreeRow = inner[last & (module_call(tree)[inner] < outer)]
    return rests


def _place(context: Context, outer: int, frame: int) -> str:
    """Line that broke the graph, as Dynamo or a Python stack has it; "" where unknown."""
    reported = _reported(context, _region(context, outer))
    if reported is not None:
        return f"{reported.file}, line {reported.line}, in {reported.function}"
    return _line(context.analysis.trace.strings[frame]) if frame >= 0 else ""


def _codes(context: Context, outer: int, inner: int) -> str:
    """The two functions, whatever their variants: the rest of a function is of one line."""
    return " ".join(_region(context, row).partition("/")[0] for row in (outer, inner))


def _region(context: Context, row: int) -> str:
    """Graph and variant of a compiled region, such as 0/1."""
    name = context.analysis.trace.strings[int(context.host.string[row])]
    return name.split(": ")[1]


def _regions(context: Context, rows: TreeRow) -> str:
    _, first = np.unique(context.host.string[rows], return_index=True)
    return ", ".join(_region(context, row) for row in rows[np.sort(first)].tolist())


def _occurrence(context: Context, inner: TreeRow, outer: TreeRow, frame: StringIndex) -> Occurrence:
    before = _call_before(context, inner, outer)
    call_tree = context.call_tree
    begin = np.where(before == outer, call_tree.start[before], call_tree.end[before])
    spans = np.stack([begin, call_tree.start[inner]], axis=1)
    compiling = intervals.lengths_within(context.analysis.compile_time, spans)
    time = context.steps.us_per_step((np.diff(spans)[:, 0] - compiling).sum())
    between = _rows_between(context, inner, before)
    between &= ~context.rows.inside(context.analysis.compiling)
    reported = _reported(context, _region(context, int(outer[0])))
    where = _place(context, int(outer[0]), int(frame[0]))
    left, entered = _regions(context, outer), _regions(context, inner)
    return Occurrence(
        place=where or f"between compiled regions {left} and {entered}",
        evidence=f"{format_count(len(inner), 'time')} in {context.steps.text} compiled region "
        f"{left} runs Python and goes on in region {entered}; {format_us(time)} of "
        f"host time{context.each} "
        f"in between{_operators(context, between)}{_cut(context, outer)}{_reason(reported)}",
        gaps=context.gaps.at(between | _first_launches(context, inner), Cause.LAUNCH),
        examples=context.call_tree.start[inner],
        latent="every break is a call back into Python, and nothing is fused across it",
    )


def _reported(context: Context, region: str) -> GraphBreak | None:
    """The break that Dynamo reported as it compiled a region, if our recorder was there."""
    graphs = context.analysis.trace.compiled
    breaks = graphs.breaks if graphs else ()
    return next((each for each in breaks if each.compile_id == region), None)


def _reason(reported: GraphBreak | None) -> str:
    return "" if reported is None else f"; Dynamo's reason: {reported.reason}"


def _cut(context: Context, outer: TreeRow) -> str:
    """Phrase of the modules in whose calls the graph breaks, "" where none is known."""
    modules, found = context.analysis.modules, context.analysis.attribution.row_module[outer]
    paths = [module_label(modules.path[module]) for module in unique(found[found >= 0]).tolist()]
    more = format_count(len(paths) - _LISTED, "other")
    rest = f" and {more}" if len(paths) > _LISTED else ""
    return f"; it cuts {', '.join(paths[:_LISTED])}{rest}" if paths else ""


def _frames(context: Context, regions: TreeRow) -> StringIndex:
    """Name of the Python frame that each region runs, the first in it; -1 for unknown.

    Unknown in all of them where no frame is the rest of a function: Python is not shown to run so.
    """
    trace, call_tree = context.analysis.trace, context.call_tree
    events, found = trace.events, np.full(len(regions), -1, np.int64)
    names = [name for name, text in enumerate(trace.strings.texts) if _REST in text]
    frames = np.flatnonzero(events.kind == EventCategory.PYTHON)
    if not isin(events.name[frames], names).any():
        return found
    for thread in unique(call_tree.thread[regions]).tolist():
        rows = frames[events.thread[frames] == thread]
        rows = rows[np.lexsort((-events.duration[rows], events.start[rows]))]
        mine = np.flatnonzero(call_tree.thread[regions] == thread)
        first = np.searchsorted(events.start[rows], call_tree.start[regions[mine]])
        mine, first = mine[first < len(rows)], rows[first[first < len(rows)]]
        inside = events.start[first] + events.duration[first] <= call_tree.end[regions[mine]]
        found[mine[inside]] = events.name[first[inside]]
    return found


def _line(frame: str) -> str:
    match = _RESUME.search(frame)
    return f"{match[1]}, line {match[3]}, in {match[2]}" if match else ""


def _call_before(context: Context, inner: TreeRow, outer: TreeRow) -> TreeRow:
    """Last call of a graph before each region inside its outer one, else the outer one."""
    wanted = graph_calls(context)
    calls = np.flatnonzero(wanted & (context.call_tree.nearest_above(wanted) < 0))
    found = lookup(calls, np.searchsorted(calls, inner) - 1)
    return np.maximum(found, outer)  # of one thread: later rows start later


def _rows_between(context: Context, inner: TreeRow, before: TreeRow) -> Bool:
    """Rows after a call of a graph and before the region that goes on, shape (n,)."""
    call_tree = context.call_tree
    calls = graph_calls(context)[before]
    opened = np.bincount(
        np.where(calls, call_tree.subtree_end[before], before + 1), minlength=len(call_tree) + 1
    )
    opened -= np.bincount(inner, minlength=len(call_tree) + 1)
    return np.asarray(np.cumsum(opened[:-1]) > 0)


def _first_launches(context: Context, inner: TreeRow) -> Bool:
    """First launch in each region, whose gap the host spent between the regions, shape (n,)."""
    launches = context.analysis.device_events.launches
    place = np.searchsorted(launches, inner)
    first = launches[place[place < len(launches)]]
    inside = first < context.call_tree.subtree_end[inner[place < len(launches)]]
    return mask_of(first[inside], len(context.call_tree))


def _operators(context: Context, between: Bool) -> str:
    """Phrase of the operators that Python runs meanwhile, "" for none."""
    around = context.host.operator_around
    plain = context.rows.matching(f"^{OPERATOR}$")
    rows = np.flatnonzero(between & plain)
    rows = rows[~plain[around[rows]] | (around[rows] < 0)]
    texts = context.analysis.trace.strings
    names = [texts[name] for name in dict.fromkeys(context.host.string[rows].tolist())]
    more = ", and others" if len(names) > _LISTED else ""
    return f", with {', '.join(names[:_LISTED])}{more}" if names else ""


GRAPH_BREAK = Rule(
    id="graph-break",
    family="compile",
    title="Compiled code has a graph break",
    description="A compiled region (Torch-Compiled Region: graph/variant) inside another one, as "
    "the last that this runs, and not inside a graph or a module that it calls: the rest of a "
    "function whose graph broke; not where torch itself breaks that of an optimizer. Recorded with "
    "Python stacks it is none where it runs another function. With these, or with hookview, the "
    "line that broke it is the place.",
    fix="Remove what breaks the graph there: print and logging, calls that Dynamo does not trace, "
    "item() and branches on tensors (torch.where, or "
    "torch._dynamo.config.capture_scalar_outputs for values). TORCH_LOGS=graph_breaks gives the "
    "reason of each; fullgraph=True makes it an error.",
    reference="PyTorch, Working with graph breaks; Profiling to understand torch.compile "
    "performance",
    find=_find_graph_break,
)


# Guards of compiled code: what is tested before each call.


_SHARE, _SHARE_IDLE = 0.05, 0.01
"""Part of a step from which it is reported: of the host, and of a device that idles meanwhile."""


def _find_guard_checks(context: Context) -> Iterator[Occurrence]:
    rows = np.flatnonzero(context.rows.named(LOOKUP) & context.rows.counted)
    spans = context.call_tree.time_of(rows)
    time = context.steps.us_per_step(intervals.length(spans))
    gaps = context.gaps.within(spans, Cause.LAUNCH)
    step, idle = context.steps.measured_us, context.gaps.us_per_step(gaps)
    if not len(rows) or (time <= _SHARE * step and idle <= _SHARE_IDLE * step):
        return
    yield Occurrence(
        place="guards",
        evidence=f"{format_count(len(rows) / len(context.steps), 'time')}{context.each} the "
        "guards of "
        f"compiled code are tested, {format_us(time)} of host time{context.each} "
        f"({time / context.steps.duration_us:.0%}); nothing is compiled for that",
        gaps=gaps,
        examples=context.call_tree.start[rows],
        latent="the devices had work meanwhile" if context.device_events.devices else UNKNOWN,
    )


GUARD_CHECKS = Rule(
    id="guard-checks",
    family="compile",
    title="Checking the guards of compiled code takes long",
    description="TorchDynamo Cache Lookup in 5% of a step or more, or with devices that idle "
    "meanwhile for 1% of it. It is part of every call of compiled code, and says nothing about "
    "graph breaks or compilation.",
    fix="Compile larger parts at once, and with fewer graph breaks: each region tests its guards "
    'in each call. Drop guards on what never changes (options={"guard_filter_fn": ...}), or skip '
    "them after the warm-up by torch.compiler.set_stance(skip_guard_eval_unsafe=True). "
    'mode="reduce-overhead" saves the launches, not the guards.',
    reference="torch.compiler.set_stance; PyTorch, Profiling to understand torch.compile "
    "performance",
    confidence="medium",
    find=_find_guard_checks,
)


# A model that runs operator by operator, the same in every step.


_GRAPH = re.compile(r"(cuda|hip)(GraphLaunch|StreamBeginCapture)")
_COMPILED = re.compile(
    r"Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction|triton_(poi|red|per|tem)_"
)
_PART = 0.5
"""Part of device work up to which compiled code leaves a model that is not compiled."""
_REASONS = ("tiny-kernels-launch-bound", "pointwise-unfused")
"""Rules of which one has to hold; the last where a part is compiled, as it leaves that out."""
_NOTHING = "no region of torch.compile and no CUDA graph"
_SYNCS = 2
"""A step: what syncs more often has to be changed first."""


def _find_eager_compile_candidate(context: Context) -> Iterator[Occurrence]:
    syncs = int(np.count_nonzero(context.syncs.counted))
    if (
        context.any_name(lambda name: _GRAPH.match(name) is not None)
        or syncs > _SYNCS * len(context.steps)
        or not _alike(context)
    ):
        return
    compiled, part = context.any_name(_is_compiled), _compiled_part(context)
    if part > _PART:
        return
    wanted = _REASONS[compiled:]
    reasons = [rule for rule in context.rules if rule.id in wanted]
    found = [rule.id for rule in reasons if any(_of_model(context, rule))]
    if not found:
        return
    yield Occurrence(
        place="the model",
        evidence=(f"compiled code has {part:.0%} of device work" if compiled else _NOTHING)
        + f"; {' and '.join(found)} "
        f"{'holds' if len(found) == 1 else 'hold'}; "
        + (f"{syncs / len(context.steps):.1f} syncs{context.each}" if syncs else "no syncs")
        + (", the same kernels in every step" if len(context.steps) > 1 else ""),
        count=len(context.steps),
        claims_gain=False,
        latent="its cost is that of the findings it names",
    )


def _compiled_part(context: Context) -> float:
    """Part of device work that compiled code launched."""
    events = context.device_events
    return events.share(events.launched_by(compiled_code(context)) | events.passing(_is_compiled))


def _of_model(context: Context, rule: Rule) -> Iterator[bool]:
    """Yield whether each finding of a rule is of the model, and not of the optimizer."""
    for each in context.found(rule):
        yield not fix_of_gaps(context, each.gaps)


def _is_compiled(name: str) -> bool:
    return _COMPILED.match(name) is not None


def _alike(context: Context) -> bool:
    """Whether the same kernels run, equally often, in every measured step."""
    work, events = context.analysis.device_events, context.analysis.trace.events
    rows = np.flatnonzero(context.device_events.counted & (work.launch >= 0))
    step = context.analysis.steps.at(context.call_tree.start[work.launch[rows]])
    name = events.name[work.event[rows]].astype(np.int64)
    pair = dense_rank(step, name)
    times = np.bincount(pair)
    names = np.empty(len(times), np.int64)
    names[pair] = name
    alike = dense_rank(times, names)
    return bool(
        len(unique(names)) == len(unique(alike))
        and len(names) == len(unique(names)) * len(context.steps)
    )


EAGER_COMPILE_CANDIDATE = Rule(
    id="eager-compile-candidate",
    family="compile",
    title="The model, or a part of it, is not compiled and may gain from torch.compile",
    description="No CUDA graph, and no region of torch.compile or Triton kernel: pointwise-unfused "
    "or tiny-kernels-launch-bound holds, of more than the optimizer. Where compiled code has up to "
    "half of device work: pointwise-unfused holds, of the rest. At most two syncs per step; the "
    "same kernels, equally often, in every step.",
    fix="Try torch.compile on the model or on the functions that take the time. Leave the first "
    "steps out of the measurement: they compile. Remove shapes that depend on data first.",
    reference="PyTorch, Introduction to torch.compile",
    confidence="medium",
    find=_find_eager_compile_candidate,
)
