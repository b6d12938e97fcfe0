"""Places in the program, and occurrences of the rules that explain syncs: one per place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import node_name
from tb_hookview.arrays.joins import pair_key, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    Bool,
    GapIndex,
    Int,
    ModuleIndex,
    StringIndex,
    SyncIndex,
    TreeRow,
)
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence
from tb_hookview.schema.findings import Confidence

# Host rows by the module and the node or outermost operator around them.


def places_of(
    context: Context, rows: TreeRow, operator: TreeRow | None = None
) -> dict[tuple[int, str], Int]:
    """Indices into `rows` (of the call tree) by module (-1 for none) and by node or operator.

    A row in no operator stands for itself. The place whose first row starts first is first.

    Args:
        context: the trace.
        rows: rows of the call tree.
        operator: the operator around each that names it, -1 for none; by default the outermost.
    """
    if not len(rows):
        return {}
    texts = context.analysis.trace.strings
    module, string = place_of(context, rows, operator)
    places, group = unique_inverse(module * len(texts) + string)
    order = np.argsort(group, kind="stable")
    last = np.cumsum(np.bincount(group))
    first = np.concatenate([[0], last[:-1]])
    begun = np.minimum.reduceat(context.call_tree.start[rows][order], first)
    found = {}
    columns = (column.tolist() for column in (places, begun, first, last))
    for place, start, begin, end in zip(*columns, strict=True):
        module_of, name = divmod(place, len(texts))
        found[module_of, node_name(texts[name])] = start, order[begin:end]
    return {place: found[place][1] for place in sorted(found, key=lambda p: (found[p][0], str(p)))}


def place_of(
    context: Context, rows: TreeRow, operator: TreeRow | None = None
) -> tuple[ModuleIndex, StringIndex]:
    """Module of each row, -1 for none, and the name of its node or operator, as `places_of`."""
    analysis, host = context.analysis, context.host
    operator = context.rows.outermost_operator_of(rows) if operator is None else operator
    node = lookup(analysis.nodes.row, analysis.row_node[rows])
    asked = np.where(node >= 0, node, np.where(operator >= 0, operator, rows))
    return analysis.attribution.row_module[rows], host.string[asked]


_CHARGED = "all of it in the cost of other findings"
_STILL = "; it still keeps the host from running ahead, and the code around it out of a CUDA graph"
LATENT = f"the device did not idle after it in this trace{_STILL}"
ELSEWHERE = f"the device idled after it only outside the measured steps{_STILL}"
OPERATOR = r"(?!autograd::)\w+::.+"
"""Operators of a library; a Python function of autograd around them says less."""
_LAST = "nothing is launched after it, so that the device cannot idle because of it"
_NAMED = 3
"""Annotations, and operators, that the evidence names."""
NO_STEPS = "The trace marks no steps: a sync made once is not separated from those of each step."
UNKNOWN = "the trace does not show what the device did meanwhile"


def by_place(
    context: Context,
    syncs: Bool,
    *,
    note: str = "",
    caveats: tuple[str, ...] = (),
    confidence: Confidence | None = None,
    fix: str = "",
    named: bool = False,
) -> Iterator[Occurrence]:
    """Yield one occurrence for each module and place of some syncs.

    The device often idles for the last sync of a step in the next one: the gaps are those of the
    measured steps, also for syncs of the place that began before these.

    Args:
        context: the trace.
        syncs: which syncs, shape (s,); those that do not count are left out.
        note: a phrase that the evidence ends with.
        caveats: sentences for every occurrence.
        confidence, fix: where they differ from the rule's.
        named: whether the evidence names the operators that sync, where the place is around them.
    """
    found = np.flatnonzero(syncs & context.syncs.counted)
    if not len(found):
        return
    others = _places(context, np.flatnonzero(syncs & context.syncs.reaching))
    for (module, place), group in _places(context, found).items():
        before = others.get((module, place), found[:0])
        gaps = context.gaps.of_syncs(np.concatenate([group, before]))
        once = (NO_STEPS,) if len(gaps) and not context.steps.marked else ()
        latent = _latent(context, group, gaps)
        inner = _inside(context, group, place) if named else ""
        parts = (_evidence(context, group), inner, note, under(context, group, module))
        yield Occurrence(
            place=place,
            module=module,
            evidence="; ".join(filter(None, parts)),
            syncs=group,
            gaps=gaps,
            examples=context.syncs.start[group],
            caveats=(*caveats, *once),
            confidence=confidence,
            latent=latent,
            claims_gain=latent != _LAST or len(gaps) > 0,
            fix=fix,
        )


def _inside(context: Context, group: SyncIndex, place: str) -> str:
    """Phrase of the innermost operators of some syncs other than the place, most frequent first."""
    rows = context.syncs.operator[group]
    names = Counter(context.host.name(row) for row in rows[rows >= 0].tolist())
    del names[place]
    if len(names) == 1 and names.total() == len(group):
        return f"in {next(iter(names))}"
    named = (f"{name} ({number})" for name, number in names.most_common(_NAMED))
    return "in " + ", ".join(named) if names else ""


def _places(context: Context, syncs: SyncIndex) -> dict[tuple[int, str], SyncIndex]:
    if not len(syncs):
        return {}
    places = places_of(context, context.syncs.row[syncs], _operators(context, syncs))
    return {place: syncs[members] for place, members in places.items()}


def latent_phrase(context: Context, group: SyncIndex, gaps: GapIndex) -> str:
    """What some syncs do where none of their gaps is in their cost, as a phrase."""
    if us := context.gaps.us_per_step(gaps):
        return f"the device idled {context.us_text(us)} after it, {_CHARGED}{_STILL}"
    idle = context.analysis.sync_idle
    elsewhere = not len(gaps) and idle is not None and idle[group].any()
    return ELSEWHERE if elsewhere else LATENT


def _latent(context: Context, group: SyncIndex, gaps: GapIndex) -> str:
    if context.analysis.sync_idle is None:
        return UNKNOWN
    events = context.analysis.device_events
    launched = np.where(
        events.launch >= 0, lookup(context.call_tree.start, events.launch), events.end
    )  # what is of unknown launch may have been launched as late as it ended
    more = (context.syncs.end[group] < launched.max(initial=0)).any()
    return latent_phrase(context, group, gaps) if more else _LAST


def under(context: Context, group: SyncIndex, module: int) -> str:
    """Phrase of the program's annotations around some syncs of a module, most frequent first."""
    own = context.analysis.modules.path[module] if module >= 0 else None
    outermost, innermost = (side[group] + 1 for side in context.syncs.labels)
    pairs, place = unique_inverse(pair_key(outermost, innermost))
    texts, count = context.analysis.trace.strings, np.bincount(place)
    chains: Counter[str] = Counter()
    for pair, number in zip(pairs.tolist(), count.tolist(), strict=True):
        around = dict.fromkeys(texts[side - 1] for side in divmod(pair, 1 << 32) if side)
        chains[" > ".join(name for name in around if name != own)] += number
    del chains[""]
    if not chains:
        return ""
    if len(chains) == 1 and chains.total() == len(group):
        return f"under {next(iter(chains))}"
    most = sorted(chains.items(), key=lambda chain: (-chain[1], chain[0]))[:_NAMED]
    return "under " + ", ".join(f"{name} ({number})" for name, number in most)


def _operators(context: Context, found: SyncIndex) -> TreeRow:
    """Outermost operator of a library around each sync, else the innermost, else -1."""
    outermost, innermost = context.syncs.outermost_matching(OPERATOR), context.syncs.operator
    return np.where((innermost >= 0) & (outermost >= 0), outermost, innermost)[found]


def _evidence(context: Context, group: SyncIndex) -> str:
    blocked = context.steps.us_per_step((context.syncs.end - context.syncs.start)[group].sum())
    syncs = format_count(len(group), "sync")
    threads = len(unique(context.call_tree.thread[context.syncs.row[group]]))
    on = f" on {threads} threads" if threads > 1 else ""
    return f"{syncs} in {context.steps.text}, the host blocked for {context.us_text(blocked)}{on}"
