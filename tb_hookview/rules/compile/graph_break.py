"""Graph breaks: compiled code that runs Python and goes on in another compiled region."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import isin, pair_key, unique, unique_inverse
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.types import Bool, StringIndex, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import OPERATOR
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import graph_calls, region_around, regions
from tb_hookview.schema import module_label
from tb_hookview.trace import EventCategory
from tb_hookview.trace.format.compiled_graphs import GraphBreak

_REST = "torch_dynamo_resume_in_"
_RESUME = re.compile(rf"(.+)\(\d+\): {_REST}(.+)_at_(\d+)")
"""Frame of the rest of a function, with the line that broke its graph."""
_LISTED = 3


def _find(context: Context) -> Iterator[Occurrence]:
    region = regions(context)
    if not region.any():
        return
    around = region_around(context)
    inner = np.flatnonzero(region & (around >= 0))
    if not len(inner):
        return
    string = context.host.string
    frame = _frames(context, inner)
    key = pair_key(np.where(frame >= 0, frame, string[inner]), string[around[inner]])
    pairs, group = unique_inverse(key)
    breaks: dict[str, list[int]] = {}
    for number in range(len(pairs)):
        first = int(np.argmax(group == number))
        row, outer = int(inner[first]), int(around[inner[first]])
        place = _place(context, outer, int(frame[first])) or _codes(context, outer, row)
        breaks.setdefault(place, []).append(number)
    for numbers in breaks.values():
        members = isin(group, numbers)
        yield _occurrence(context, inner[members], around[inner[members]], frame[members])


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
    time = context.steps.us_per_step((call_tree.start[inner] - begin).sum())
    between = _rows_between(context, inner, before)
    reported = _reported(context, _region(context, int(outer[0])))
    where = _place(context, int(outer[0]), int(frame[0]))
    left, entered = _regions(context, outer), _regions(context, inner)
    return Occurrence(
        place=where or f"between compiled regions {left} and {entered}",
        everywhere=True,
        evidence=f"{format_count(len(inner), 'time')} in {context.steps.text} compiled region "
        f"{left} runs Python and goes on in region {entered}; {format_us(time)} of "
        f"host time{context.each} "
        f"in between{_operators(context, between)}{_cut(context, outer)}{_reason(reported)}",
        count=len(inner),
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


def _frames(context: Context, inner: TreeRow) -> StringIndex:
    """Name of the Python frame that each region runs, if it is the rest of a function; else -1."""
    trace, call_tree = context.analysis.trace, context.call_tree
    found = np.full(len(call_tree), -1, np.int64)
    names = [name for name, text in enumerate(trace.strings.texts) if _REST in text]
    if not names:
        return found[inner]
    python = trace.events.kind == EventCategory.PYTHON
    frames = np.flatnonzero(python & isin(trace.events.name, names))
    at = innermost_at(
        call_tree, trace.events.thread[frames].astype(np.int64), trace.events.start[frames]
    )
    region = lookup(call_tree.nearest(regions(context)), at)
    found[region[region >= 0]] = trace.events.name[frames[region >= 0]]
    return found[inner]


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
    launch = context.analysis.device_events.launch
    launches = unique(launch[launch >= 0])
    place = np.searchsorted(launches, inner)
    first = launches[place[place < len(launches)]]
    inside = first < context.call_tree.subtree_end[inner[place < len(launches)]]
    found = np.zeros(len(context.call_tree), bool)
    found[first[inside]] = True
    return found


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


RULE = Rule(
    id="graph-break",
    family="compile",
    title="Compiled code has a graph break",
    description="A compiled region (Torch-Compiled Region: graph/variant) inside another one, and "
    "not inside a graph that it calls: the rest of a function whose graph broke. Recorded with "
    "hookview or with Python stacks the line that broke it is the place.",
    fix="Remove what breaks the graph there: print and logging, calls that Dynamo does not trace, "
    "item() and branches on tensors (torch.where, or "
    "torch._dynamo.config.capture_scalar_outputs for values). TORCH_LOGS=graph_breaks gives the "
    "reason of each; fullgraph=True makes it an error.",
    reference="PyTorch, Working with graph breaks; Profiling to understand torch.compile "
    "performance",
    find=_find,
)
