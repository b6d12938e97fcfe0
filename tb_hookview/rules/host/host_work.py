"""Long work of the host for which the device idles: preprocessing, logging, anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import first_of_each, isin
from tb_hookview.arrays.types import Bool, GapIndex
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.parts import recur
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.cuda_graphs import RECORD_ONCE, fix_where_recorded, while_recording
from tb_hookview.rules.evidence.host import (
    HELD_UP,
    LONG_NS,
    OF_USER_KERNEL,
    activity_in,
    event_after,
    held_by_activity,
    held_up,
    is_operator,
    operators_in,
    remedy_for,
    uncut,
    user_kernel_after,
)

_SHARE = 0.02
"""Part of a step from which on such gaps of one name count."""
_LITTLE = 10
"""Device events per step; a step with no more is no training step."""
_ALL = 0.95
"""Part of gaps from which on all of them is said to be in what names them."""
_NAMED = 3
_NOTHING = "nothing with a name"
"""Names that the evidence has: operators, and what held the host where no steps are marked."""
_BEFORE = (
    "What the device did before its first event is not in the trace; it is taken to have idled."
)
_HELD_UP = (
    "The trace does not show what held the operator up: it may have computed, or waited for a lock "
    "or a core; or its launches are missing from the trace."
)
_SNIPPET = (
    f"The device has at most {_LITTLE} events per step: what is recorded is no training step, and "
    "what the host does in it may be what it does once."
)
_RECURS = (
    "The trace marks no steps. Each quarter of it has a tenth or more of the time of this name, so "
    "it is taken to recur; some may be of the set-up."
)
_AWAY = (
    "Move it away from launches. Compute once what has the same result each time. "
    "Log, compute metrics and write files after the next work is launched, or less often."
)
_INPUTS = (
    "Prepare inputs in DataLoader workers (num_workers above 0, in the dataset or collate_fn), and "
    "prefetch the next ones while the device works on these."
)
_STALLS = (
    "These operators compute nothing that takes so long: the thread that launches did not run, or "
    "waited for a lock. Look for threads and processes that compete for the cores: workers of "
    "loaders (num_workers), threads of torch (torch.set_num_threads) and other jobs together "
    "should not exceed them. Then look for garbage collection."
)
_NO_STEPS = (
    "Mark the steps (a schedule, and prof.step() after each), which separates set-up from what "
    "each step does. Then take what is left out of the way of launches."
)


def _find(context: Context) -> Iterator[Occurrence]:
    gaps = _long(context)
    if not len(gaps) or (not context.steps.marked and _little(context)):
        return
    records = _recorded(context, gaps)
    yield from _recording(context, gaps[records])
    gaps = gaps[~records]
    names = np.array(activity_in(context, gaps), object)
    once, little = np.zeros(len(names), bool), np.zeros(len(names), bool)
    chance = _of_one_step(context.whole)
    for name in dict.fromkeys(names.tolist()):
        mine = gaps[names == name]
        if not context.steps.marked and not _recurs(context, mine):
            once |= names == name
        elif (
            name not in chance
            and context.gaps.us_per_step(mine) > _SHARE * context.steps.duration_us
        ):
            yield _occurrence(context, name, mine)
        else:
            little |= names == name
    yield from _several(context, names[little], gaps[little])
    yield from _without_steps(context, names[once], gaps[once])


def _long(context: Context) -> GapIndex:
    """Gaps of the cause LAUNCH that are no pace of launches."""
    gaps = context.gaps.of(Cause.LAUNCH)
    return gaps[context.analysis.idle_within(context.steps.indices)[gaps] >= LONG_NS]


def _recorded(context: Context, gaps: GapIndex) -> Bool:
    """Gaps in which graphs are recorded, none where these are too short or are of a set-up."""
    found = while_recording(context, gaps)
    enough = context.gaps.us_per_step(gaps[found]) > _SHARE * context.steps.duration_us
    return found & (enough and (context.steps.marked or _recurs(context, gaps[found])))


def _recording(context: Context, gaps: GapIndex) -> Iterator[Occurrence]:
    """One occurrence for gaps in which graphs are recorded."""
    if not len(gaps):
        return
    time, (spans, _) = context.gaps.us_per_step(gaps), uncut(context, gaps)
    names = np.array(activity_in(context, gaps), object)
    once = "" if context.steps.marked else fix_where_recorded(context)
    yield Occurrence(
        place="recording of graphs",
        evidence=f"for {context.us_text(time)}, {time / context.steps.duration_us:.0%} of "
        f"{'it' if context.steps.marked else 'the trace'}, the thread that launches was mostly "
        "recording CUDA or HIP graphs, or in operators that do, and launched nothing that ran: "
        f"{format_count(len(spans), 'gap')} of 1 ms or more in {context.steps.text}, the longest "
        f"{format_us(np.diff(spans).max() / 1000)}; {_most(context, names, gaps)}",
        gaps=gaps[:0] if once else gaps,
        claims_gain=not once,
        examples=spans[:, 0],
        confidence="low" if once else "medium",
        caveats=() if context.steps.marked or once else (_RECURS,),
        title="Recording CUDA or HIP graphs keeps the device idle",
        latent="no graph is replayed in this trace, so it may happen once" if once else "",
        fix=once or RECORD_ONCE,
    )


def _of_one_step(context: Context) -> set[str]:
    """Names with gaps in one of several steps only; empty if it is a single one.

    Several of them are where the thread happened to be as something held it up.
    """
    gaps, steps = _long(context), dict[str, set[int]]()
    spans, place = uncut(context, gaps)
    step = context.analysis.steps.at(spans[place, 0])
    for name, each in zip(activity_in(context, gaps), step.tolist(), strict=True):
        steps.setdefault(name, set()).add(each)
    once = {name for name, those in steps.items() if len(those) == 1}
    return once if len(once) > 1 and len(context.steps) > 1 else set()


def _recurs(context: Context, gaps: GapIndex) -> bool:
    """Whether gaps of one name in a trace without steps are no set-up."""
    table = context.analysis.gaps
    return recur(table.start[gaps], table.duration[gaps], context.steps.windows[0])


def _occurrence(context: Context, name: str, gaps: GapIndex) -> Occurrence:
    time, (spans, _) = context.gaps.us_per_step(gaps), uncut(context, gaps)
    length = spans[:, 1] - spans[:, 0]
    whole = "it" if context.steps.marked else "the trace"
    inside = Counter[str]()
    if not is_operator(name):
        inside = operators_in(context, gaps, name)
    kernel = "" if is_operator(name) else user_kernel_after(context, gaps)
    mostly = 2 * inside.total() > length.sum()
    most = inside.most_common(1)[0][0] if mostly else ""
    what = name or ("several operators" if most else "")
    return Occurrence(
        place=(what or "not named in the trace") + (f", mostly {most}" if most else ""),
        evidence=f"for {context.us_text(time)}, {time / context.steps.duration_us:.0%} of "
        f"{whole}, the thread that launches was in {what or 'nothing that the trace names'}"
        f"{_part(context, gaps) if name else ''} and "
        f"launched nothing: {format_count(len(length), 'gap')} of 1 ms or more in "
        f"{context.steps.text}, the longest {format_us(length.max() / 1000)}"
        + (_in_operators(context, inside) if most else "")
        + ("" if is_operator(name) else f"; {_ends(context, gaps, kernel)}"),
        gaps=gaps,
        examples=spans[:, 0],
        confidence="low"
        if _little(context) or not name
        else "medium"
        if is_operator(name)
        else None,
        caveats=tuple(_caveats(context, name, gaps)),
        fix=OF_USER_KERNEL if kernel else _fix(context, name, most),
    )


def _ends(context: Context, gaps: GapIndex, kernel: str) -> str:
    """Phrase of what some gaps end with, given the user-defined kernel that it is."""
    if kernel:
        return f"all of it before {kernel}, a user-defined Triton kernel"
    return f"mostly {event_after(context, gaps)}"


def _part(context: Context, gaps: GapIndex) -> str:
    """Phrase of the time that the name of some gaps holds, "" where it is next to all of it."""
    held = held_by_activity(context, gaps).sum()
    if held >= _ALL * context.analysis.gaps.duration[gaps].sum():
        return ""
    return f" ({format_us(context.steps.us_per_step(held))} of that)"


def _fix(context: Context, name: str, most: str) -> str:
    several = not name and is_operator(most)
    found = remedy_for("" if several else most or name, with_stacks=context.with_stacks)
    if most and name and not found:  # a range of the program says less than the function around it
        found = remedy_for(name, with_stacks=context.with_stacks)
    loads = context.trains or (context.host.role == Role.DATA).any()
    return found or (f"{_AWAY} {_INPUTS}" if loads else _AWAY)


def _in_operators(context: Context, inside: Counter[str]) -> str:
    return f"; most of it in {context.listed(inside.most_common(_NAMED))}"


def _little(context: Context) -> bool:
    """Whether the device has next to nothing to do in a step."""
    return int(context.device_events.counted.sum()) <= _LITTLE * len(context.steps)


def _caveats(context: Context, name: str, gaps: GapIndex) -> Iterator[str]:
    first = first_of_each(context.analysis.device_events.device)
    if isin(context.analysis.gaps.device_event[gaps], first).any():
        yield _BEFORE
    if is_operator(name):
        yield _HELD_UP
    if _little(context):
        yield _SNIPPET
    if not context.steps.marked:
        yield _RECURS


def _several(
    context: Context, names: npt.NDArray[np.object_], gaps: GapIndex
) -> Iterator[Occurrence]:
    """One occurrence for gaps of names that are too short or too seldom, together long enough."""
    time = context.gaps.us_per_step(gaps)
    if time <= _SHARE * context.steps.duration_us:
        return
    spans, _ = uncut(context, gaps)
    stalled = held_by_activity(context, gaps[held_up(context, gaps)])
    stalls = context.steps.us_per_step(stalled.sum())
    mostly = 2 * stalls > time
    yield Occurrence(
        place="several names",
        evidence=f"for {context.us_text(time)}, {time / context.steps.duration_us:.0%} of "
        f"{'it' if context.steps.marked else 'the trace'}, the thread that launches launched "
        f"nothing: {format_count(len(spans), 'gap')} of 1 ms or more in {context.steps.text}, the "
        f"longest {format_us(np.diff(spans).max() / 1000)}; {_most(context, names, gaps)}"
        + (
            f"; {format_us(stalls)} of it in operators that took over {HELD_UP} times the median "
            "of their name"
            if stalls
            else ""
        ),
        gaps=gaps,
        examples=spans[:, 0],
        confidence="low" if _little(context) else "medium",
        caveats=tuple(_caveats(context, "", gaps)),
        title="Something holds up the thread that launches" if mostly else "",
        fix=_STALLS if mostly else _AWAY,
    )


def _most(context: Context, names: npt.NDArray[np.object_], gaps: GapIndex) -> str:
    """Phrase of the names that most of the time of some gaps is in."""
    held = held_by_activity(context, gaps)
    each = {name: held[names == name].sum() for name in names.tolist()}
    most = sorted(each.items(), key=lambda item: -item[1])[:_NAMED]
    return f"most of it in {context.listed((name or _NOTHING, time) for name, time in most)}"


def _without_steps(
    context: Context, names: npt.NDArray[np.object_], gaps: GapIndex
) -> Iterator[Occurrence]:
    """One occurrence that charges nothing: what is done once is not separated from each step."""
    time, table = context.gaps.us_per_step(gaps), context.analysis.gaps
    if time <= _SHARE * context.steps.duration_us:
        return
    yield Occurrence(
        place=context.steps.whole,
        evidence=f"for {format_us(time)}, {time / context.steps.duration_us:.0%} of the trace, the "
        f"thread that launches launched nothing: {format_count(len(gaps), 'gap')} of 1 ms or more, "
        f"the longest {format_us(table.duration[gaps].max() / 1000)}; "
        + _most(context, names, gaps),
        claims_gain=False,
        examples=table.start[gaps],
        confidence="low",
        latent="the trace marks no steps, so it may be of the set-up and is not charged",
        fix=_NO_STEPS,
    )


RULE = Rule(
    id="host-work",
    family="host",
    title="Host work keeps the device idle",
    description="Gaps of 1 ms or more before an event that was launched too late, or after the "
    "last one and before the host waits for the whole device, with the launching thread for four "
    "fifths of each in one operator, annotation, module or Python function (three fifths in the "
    "outermost frame of a script), or in nothing that has a name; over 2% of a step by name, or by "
    "all names together that are below that or, of several measured steps, have gaps in one only. "
    "In a trace without steps those of a name of which each quarter of it has a tenth; of all "
    "others one finding that costs nothing. Gaps in which a CUDA or HIP graph is recorded, or in "
    "operators that do, make one finding. "
    "Data loaders, syncs, copies, allocations and the first use of kernels have other causes.",
    fix=f"{_AWAY} {_INPUTS}",
    reference="Holistic Trace Analysis, idle time breakdown; PyTorch Performance Tuning Guide",
    find=_find,
    advice=("host-cpu-tuning",),
)
