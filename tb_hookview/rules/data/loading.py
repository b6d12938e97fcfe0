"""Rules about data loading and pinned memory, and steps that take far longer than the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.loaders import SINGLE
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import index_of, isin, mask_of, median, setdiff, union
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Float, GapIndex, Int, Nanoseconds, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import places_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import in_one_step, steps_with
from tb_hookview.trace import EventCategory

# Data loading: in the main process, between the steps; or a batch that workers have not finished.


_SHARE_LOADING = 0.05
"""Part of a step from which on time in a loader counts."""
_PART = 0.1
"""Part of that time from which on what is no wait for workers is stated."""
_SEVERAL = 2
"""Steps from which on a batch that each of them waits for recurs."""
_ONE_BATCH = (
    "It is the only batch of the trace, which marks no steps: the time may be that in which the "
    "workers start, once."
)
_TAKE_CORES = (
    "The model computes on the CPU: what the workers compute on its cores meanwhile is no saving."
)
_ON_HOST = (
    "Set num_workers above 0, so that batches are made while the model runs; with as many fewer "
    "threads for torch (torch.set_num_threads), since both share the cores. Decode or tokenize "
    "once, ahead of the run."
)
_UNPACKS = (
    "The batches are there for most of that time: the main process takes their tensors over, which "
    "more workers do not shorten. Return fewer and larger tensors from a batch (stack them in "
    "collate_fn). With pin_memory=True a thread of its own takes them over ahead of time."
)
_PACES = (
    "The host waits for the loader's workers in every step, at least {}: if they set the pace, "
    "time that is saved here becomes waiting for them."
)
_STARTS = (
    "Batches are ready in time once the workers run: more of them would take longer to start. Set "
    "persistent_workers=True, so that they start once for all epochs, and begin recording later "
    "(torch.profiler.schedule with wait and warmup)."
)


def _in_loader(context: Context, *, single: bool) -> Iterator[Occurrence]:
    """Yield one occurrence if loaders with (or without) workers make a device, or the CPU, wait.

    Where the model runs on the CPU, all time in the loader is taken from it. Where the trace shows
    neither, its cost is unknown.
    """
    loading = (context.host.role == Role.DATA) & context.rows.counted
    if not loading.any():
        return
    loading &= context.rows.containing(SINGLE) == single
    rows = np.flatnonzero(loading)
    held = context.steps.us_per_step(context.call_tree.duration[rows].sum())
    gaps = context.gaps.at(loading, Cause.DATA_LOADING)
    on_host, unseen = context.on_host, context.steps.idle_us is None
    if not (len(gaps) or on_host or unseen) or held <= _SHARE_LOADING * context.steps.measured_us:
        return
    starts = rows[isin(rows, context.analysis.loads_once)]
    starting = int(context.call_tree.duration[starts].sum()) / 1000
    once = not (single or context.steps.marked or len(rows) > 1)
    took = context.call_tree.duration[rows]
    waited = took if single else _until_arrival(context, rows)
    unpacked = context.steps.us_per_step((took - waited).sum())
    least = f"at least {format_us(took.min() / 1000)} and " if len(rows) > 1 else ""
    fix = _ON_HOST if single and on_host else _UNPACKS if 2 * unpacked > held else ""
    yield Occurrence(
        place=context.host.name(int(rows[0])),
        evidence=f"the host was in the loader for {context.part_text(held)}, for {least}at most "
        f"{format_us(took.max() / 1000)} at a time{_starts(starting, len(starts))}"
        f"{_unpacks(unpacked, held)}",
        gaps=gaps,
        once_us=starting or None,
        host=context.rows.host_time(loading) if on_host else (),
        examples=context.call_tree.start[rows],
        claims_gain=not once and not starting,
        caveats=((_ONE_BATCH,) if once else ()) + ((_TAKE_CORES,) if on_host else ()),
        paces="" if single else _paces(context, rows, waited),
        fix=_STARTS if starting else fix,
        latent="" if on_host else "how long a device waited for it is not in this trace",
    )


def _until_arrival(context: Context, rows: TreeRow) -> Nanoseconds:
    """Time in calls of a loader until the main process takes over the first tensor of a batch,
    which has arrived then; all of a call without one."""
    tree = context.call_tree
    tensors = np.flatnonzero(context.host.kind == EventCategory.OPERATOR)
    first = np.append(tensors, len(tree))[np.searchsorted(tensors, rows)]
    first = np.where(first < tree.subtree_end[rows], first, -1)
    arrived = np.where(first >= 0, lookup(tree.start, first), tree.end[rows])
    return np.asarray(arrived - tree.start[rows])


def _unpacks(us: float, held: float) -> str:
    """Phrase of the time in which batches are taken over, "" for a small part of all."""
    if us <= _PART * held:
        return ""
    return f"; {format_us(us)} of that after the batch had arrived, as its tensors are taken over"


def _paces(context: Context, rows: TreeRow, waited: Nanoseconds) -> str:
    """Caveat for other gains if each of several steps waits for a batch for a part that counts."""
    steps = context.steps.indices
    step = index_of(steps, len(context.analysis.steps.name) + 1)[
        context.analysis.steps.at(context.call_tree.start[rows])
    ]
    waits = np.bincount(step[step >= 0], waited[step >= 0] / 1000, minlength=len(steps))
    if len(waits) < _SEVERAL or min(waits) <= _SHARE_LOADING * context.steps.measured_us:
        return ""
    return _PACES.format(format_us(min(waits)))


def _starts(us: float, calls: int) -> str:
    """Phrase of what the calls take that happen once, "" where there is none."""
    if not us:
        return ""
    which = "the first and the last call" if calls > 1 else "the first call"
    return f"; {format_us(us)} of that in {which}, as workers start or end"


LOADER_SINGLE_PROCESS = Rule(
    id="loader-single-process",
    family="data-loading",
    title="Data loading runs in the main process",
    description="Over 5% of a step in a DataLoader without workers "
    "(_SingleProcessDataLoaderIter), while a device idles, where the model runs on the CPU, or "
    "where no device was recorded.",
    fix="Set num_workers above 0, so that batches are made while the model runs, and "
    "pin_memory=True. Keep CUDA out of the workers. Decode or tokenize once, ahead of the run.",
    reference="PyTorch Performance Tuning Guide: asynchronous data loading",
    find=lambda context: _in_loader(context, single=True),
    advice=(
        *("cpu-preprocess-format", "storage-io-bound", "host-copy-torch-tensor"),
        "host-cpu-tuning",
    ),
)


LOADER_WAIT = Rule(
    id="loader-wait",
    family="data-loading",
    title="The main process waits for DataLoader workers",
    description="Over 5% of a step in a DataLoader with workers, while a device idles, where the "
    "model runs on the CPU, or where no device was recorded. Where no step is marked and nearly "
    "all of it is in the first and the last call, it is priced once: workers start and end there. "
    "Where two or more marked steps each wait that long, it comes first, and other savings carry a "
    "caveat: if the workers set the pace, the host waits for them instead. The first operator in a "
    "call takes over a tensor of the batch, which has arrived then.",
    fix="Raise num_workers (begin near the number of cores for each device), prefetch_factor, and "
    "set persistent_workers=True. Decode and augment on the device, or transform whole batches. "
    "Return less from the workers. Train on one cached batch to measure what could be gained.",
    reference="torch.utils.data documentation; torch_tb_profiler, DataLoader recommendation",
    find=lambda context: _in_loader(context, single=False),
    advice=("storage-io-bound", "cpu-preprocess-format", "host-cpu-tuning"),
)


# A few steps take much longer than the others.


_LONG = 1.5
"""Times the median from which a step is an outlier; with enough steps also from three standard
deviations above the mean, if it is at least a tenth above the median."""
_AT_LEAST = 4
"""Steps without which none is usual."""
_FEW = 0.25
"""Share of the steps above which long ones are no outliers: all of them vary."""
_MORE = 1.25
"""Times the operators of other steps above which a step does more."""
_SOME = 0.25
"""Part of the difference from which on that of others which do as much explains some of it."""
_NAMED = 3
"""Outliers whose names and times are given."""
_HOSTS = (
    *(Cause.SYNC, Cause.DATA_LOADING, Cause.COPY, Cause.ALLOCATOR),
    *(Cause.KERNEL_LOADING, Cause.LAUNCH),
)
_LOADERS = "in loaders"
_PARTS = {
    "data_us": _LOADERS,
    "forward_us": "in forward",
    "backward_us": "in backward",
    "optimizer_us": "in the optimizer",
    "other_us": "outside of loaders, forward, backward and optimizer",
}


def _find_step_outlier(context: Context) -> Iterator[Occurrence]:
    last = len(context.analysis.steps.name) - 1  # it ends as the profiler stops
    steps = [step for step in context.steps.indices if step != last]
    rows = [
        row
        for step, row in zip(context.steps.indices, context.steps.report_rows, strict=True)
        if step != last
    ]
    if len(rows) < _AT_LEAST:
        return
    durations = np.array([row.duration_us for row in rows])
    usual = median(durations)
    spread = float(durations.mean() + 3 * durations.std())
    limits = min(_LONG * usual, max(spread, 1.1 * usual)), max(spread, _LONG * usual)
    above = (np.flatnonzero(durations > limit).tolist() for limit in limits)
    long = next((rare for rare in above if len(rare) <= _FEW * len(rows)), [])
    if not long:
        return
    outliers, chosen = [rows[number] for number in long], [steps[number] for number in long]
    gaps = _longer_idle(context, steps, chosen)
    said, more = _grown(outliers, rows)
    whole = _excess(outliers, usual)
    does_more, as_much = _does_more(_operators(context, steps), durations, long)
    yield Occurrence(
        place=_names(outliers),
        evidence=f"{_evidence(outliers, len(rows), usual, len(context.steps))}; the largest part "
        f"of the difference, {format_us(min(more, whole))} of {format_us(whole)}, is spent "
        f"{said}{does_more}",
        gaps=gaps,
        examples=context.analysis.steps.window[chosen, 0],
        of_steps=True,
        latent=_latent(context, gaps),
        fix=" ".join([*([_FIX_MORE] * bool(does_more)), *([_fix(context, said)] * as_much)]),
    )


def _operators(context: Context, steps: list[int]) -> Int:
    """Operators that run in each of some steps."""
    rows = context.host.kind == EventCategory.OPERATOR
    step = context.analysis.steps.at(context.call_tree.start[rows])
    return np.bincount(step[step >= 0], minlength=len(context.analysis.steps.name))[steps]


def _does_more(count: Int, durations: Float, long: list[int]) -> tuple[str, bool]:
    """Phrase of how many operators run in long steps, if far more than in most others.

    Args:
        count: operators of the compared steps.
        durations: of these, microseconds.
        long: those of them that are long.

    Returns:
        The phrase, and whether that does not explain all: others that do as much are shorter.
    """
    least, others = int(count[long].min()), setdiff(np.arange(len(count)), np.array(long))
    fewer = others[least > _MORE * count[others]]
    as_much, usual = setdiff(others, fewer), median(durations)
    if 2 * len(fewer) <= len(others):
        return "", True
    more = " or more" if len(long) > 1 else ""
    said = f"; {format_count(least, 'operator')}{more} run in it, in "
    most = f"at most {int(count[fewer].max()):,}"
    if not len(as_much):
        return f"{said}others {most}", False
    takes = median(durations[as_much])
    if takes - usual < _SOME * (durations[long].mean() - usual):
        return "", True
    return f"{said}most others {most}; those with as many take {format_us(takes)}", True


def _fix(context: Context, said: str) -> str:
    if said == _LOADERS:
        return _FIX_LOADERS
    return _FIX if len(context.analysis.device_events) else _FIX_ON_CPU


def _latent(context: Context, gaps: GapIndex) -> str:
    if not len(context.analysis.device_events):
        return "no idle time of a device shows what of that could be saved"
    if len(gaps):
        return "what the device waits longer for the host in it is in the cost of other findings"
    return "the device waits no longer for the host in it than in the median step"


def _names(rows: list[schema.Step]) -> str:
    named = ", ".join(row.name for row in rows[:_NAMED])
    return f"{named} and {len(rows) - _NAMED} more" if len(rows) > _NAMED else named


def _longer_idle(context: Context, steps: list[int], chosen: list[int]) -> GapIndex:
    """Longest gaps of chosen steps: about the time by which each idles longer than the median.

    Args:
        context: the steps.
        steps: those that are compared.
        chosen: those of them that are long.
    """
    gaps, known = context.gaps.of(*_HOSTS), context.analysis.gaps
    step = context.analysis.gap_step[gaps]
    idle = sum_by(step, known.duration[gaps], len(context.analysis.steps.name))
    left = (idle - median(idle[steps])).tolist()
    order = np.argsort(-known.duration[gaps], kind="stable")
    mine, found = order[isin(step[order], chosen)], []
    rows, lengths = step[mine].tolist(), known.duration[gaps[mine]].tolist()
    for gap, row, length in zip(gaps[mine].tolist(), rows, lengths, strict=True):
        if length < 2 * left[row]:  # nearer with it than without
            left[row] -= length
            found.append(gap)
    return np.array(found, np.int64)


def _grown(outliers: list[schema.Step], rows: list[schema.Step]) -> tuple[str, float]:
    """The part of the steps that grew most beyond its median, and by how much in all."""
    grown = {
        said: sum(getattr(row, part) for row in outliers)
        - len(outliers) * median(np.array([getattr(other, part) for other in rows]))
        for part, said in _PARTS.items()
        if all(getattr(row, part) is not None for row in rows)
    }
    return max(grown.items(), key=lambda item: item[1])


def _evidence(outliers: list[schema.Step], compared: int, usual: float, steps: int) -> str:
    times = ", ".join(format_us(row.duration_us) for row in outliers[:_NAMED])
    return (
        f"{times}, where the median of {compared} steps is {format_us(usual)}: the mean step is "
        f"{format_us(_excess(outliers, usual) / steps)} longer for it"
    )


def _excess(outliers: list[schema.Step], usual: float) -> float:
    return sum(row.duration_us - usual for row in outliers)


_FIX_LOADERS = (
    "Set persistent_workers=True, so that workers live from epoch to epoch, and a larger "
    "prefetch_factor. Look for batches that take longer to make: long samples, slow files."
)
_FIX_MORE = (
    "It does more than the others: evaluate, save or log less often, or leave such steps out of "
    "the recording. Where its inputs are larger, group batches by length."
)
_FIX = (
    "Look at what the step does at its longest gap. Checkpoints: write them asynchronously. "
    "Shapes: warm up with all of them. Garbage collection: gc.freeze() after the warm-up, or "
    "gc.collect() at times that you choose."
)
_FIX_ON_CPU = (
    "Compare its operators with those of another step. Look for other programs and threads on the "
    "same cores, for memory that is given back to the system and taken again, and for garbage "
    "collection: gc.freeze() after the warm-up, or gc.collect() at times that you choose."
)
STEP_OUTLIER = Rule(
    id="step-outlier",
    family="data-loading",
    title="A step takes much longer than the others",
    description="Among four or more steps, one above 1.5 times the median, or above the mean by "
    "three standard deviations, if no more than a quarter are; above both where more are. The "
    "trace's last is left out: in it "
    "the profiler stops. The cost is its longest gaps, as many as make up the time by which the "
    "device waits longer for the host in it than in the median step.",
    fix=_FIX,
    reference="Amazon SageMaker Debugger, rule StepOutlier; torch.utils.data documentation",
    confidence="medium",
    find=_find_step_outlier,
)


# Memory of the host pinned by the training thread.


_CALLS = r"^(cuda|hip|cu|musa)(HostAlloc|HostMalloc|HostRegister|MallocHost|MemHostAlloc)"
_PINNING = ("aten::pin_memory", "aten::_pin_memory")
_PIN_ON_REQUEST = (
    *_PINNING,
    *("aten::empty", "aten::empty_strided", "aten::empty_like", "aten::to", "aten::_to_copy"),
)
"""Operators that pin what a program asks them to; all others pin buffers of their own."""
_TITLE_OF_OPERATOR = "An operator pins memory of its own"
_FIX_OF_OPERATOR = (
    "Operators such as aten::item and libraries such as cuDNN pin a buffer the first time that "
    "they need it. Leave the first steps out of the trace (torch.profiler.schedule with wait and "
    "warmup) and out of comparisons."
)
_BLOCKS = "the device did not idle after it in this trace, but it blocks the host"


def _find_pin_memory_inline(context: Context) -> Iterator[Occurrence]:
    pins = context.rows.named(*_PINNING) | context.rows.matching(_CALLS, "Host")
    pins &= context.rows.counted
    pins &= ~context.rows.inside(context.host.role == Role.DATA)
    rows = np.flatnonzero(pins)
    rows = rows[context.rows.on_training_thread(rows)]
    if not context.steps.marked or context.steps.idle_us is None:
        return
    for (module, place), members in places_of(context, rows).items():
        yield _pinned(context, module, place, rows[members])


def _pinned(context: Context, module: int, place: str, rows: TreeRow) -> Occurrence:
    spans = context.call_tree.time_of(rows)
    length, steps = intervals.length(spans), steps_with(context, spans[:, 0])
    of_operator = not _asked_for(context, rows)
    once = in_one_step(context, spans[:, 0]) or (of_operator and steps == 1)
    held = format_us(length / 1000 if once else context.steps.us_per_step(length))
    return Occurrence(
        place=place,
        module=module,
        evidence=f"memory of the host is pinned {format_count(len(spans), 'time')} in "
        f"{steps} of {context.steps.text}, {held} of host time{'' if once else context.each}",
        gaps=union(
            context.gaps.at(_under(context, rows), Cause.ALLOCATOR, Cause.COPY),
            context.gaps.within(spans, Cause.LAUNCH),
        ),
        once_us=length / 1000 if once else None,
        claims_gain=not once,
        examples=spans[:, 0],
        latent=_BLOCKS,
        title=_TITLE_OF_OPERATOR if of_operator else "",
        fix=_FIX_OF_OPERATOR if of_operator else "",
    )


def _asked_for(context: Context, rows: TreeRow) -> bool:
    """Whether the training pins any of it: outside of operators, or in one that pins on request."""
    operator = context.rows.operator_of(rows)
    mine = operator < 0
    return bool((mine | context.rows.named(*_PIN_ON_REQUEST)[operator]).any())


def _under(context: Context, rows: TreeRow) -> Bool:
    wanted = mask_of(rows, len(context.call_tree))
    return context.rows.inside(wanted)


PIN_MEMORY_INLINE = Rule(
    id="pin-memory-inline",
    family="data-movement",
    title="Memory is pinned in the training loop",
    description="aten::pin_memory, cudaHostAlloc or cudaHostRegister in a step, outside of a "
    "loader and on a thread that launches kernels. What one of three or more steps has, or an "
    "operator for a buffer of its own in one step, is priced once.",
    fix="Let the loader pin: DataLoader(pin_memory=True) does it in a separate thread. Or "
    "allocate pinned buffers once and fill them again. Pinning a tensor in order to copy it once "
    "takes longer than copying it as it is.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory()",
    find=_find_pin_memory_inline,
)
