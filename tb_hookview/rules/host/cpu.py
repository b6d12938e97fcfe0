"""Rules about a CPU on which the model runs: its threads, custom operators, collections."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Role
from tb_hookview.arrays import intervals
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import places_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import HostTime, Occurrence, Rule
from tb_hookview.rules.evidence.host import computing

# Operators and autograd nodes that are not torch's, where the model runs on the CPU.


_SHARE = 0.1
"""Part of a step from which on the own code of one operator in one module counts."""
_CUSTOM = re.compile(
    r"torch::autograd::CppNode<.*>"
    r"|(?!(?:aten|prims?|c10d|c10d_functional|fsdp|inductor|mkldnn|mkldnn_prepacked|onednn|profiler"
    r"|quantized|rngprims|sparse|static_runtime|streams|symm_mem|torch\w*|_\w*)::)\w+::[\w.]+"
)
"""C++ autograd functions, and operators in a namespace that is not torch's."""
_CAVEAT = (
    "The saving is that of code that takes no time: operators in its place would take some of it."
)


def _find_custom_operator(context: Context) -> Iterator[Occurrence]:
    if not context.on_host:
        return
    tree, counted = context.call_tree, context.rows.counted
    custom = context.rows.passing(lambda name: _CUSTOM.fullmatch(name) is not None)
    custom &= counted & ((context.host.role == Role.NONE) | (context.host.role == Role.NODE))
    rows = np.flatnonzero(custom)
    inner = np.flatnonzero(computing(context) & ~custom & counted)
    for (module, name), mine in places_of(context, rows, rows).items():
        time = []
        for thread in np.unique(tree.thread[rows[mine]]).tolist():
            own, others = (each[tree.thread[each] == thread] for each in (rows[mine], inner))
            spans = tree.time_of(own)
            within = tree.time_of(others)
            time.append(HostTime(thread, intervals.subtract(spans, within)))
        held = context.steps.us_per_step(sum(intervals.length(each.time) for each in time))
        share = held / context.steps.duration_us if context.steps.duration_us else 0.0
        if share > _SHARE:
            yield Occurrence(
                place=name,
                module=module,
                evidence=f"{format_count(len(mine), 'call')} in {context.steps.text} take "
                f"{context.us_text(held)}, {share:.0%} of it, in code in which no operator of "
                "torch runs",
                host=tuple(time),
                examples=tree.start[rows[mine]],
                caveats=(_CAVEAT,),
            )


CUSTOM_OPERATOR = Rule(
    id="custom-operator",
    family="host",
    title="A custom operator takes CPU time",
    description="Where the model runs on the CPU: C++ autograd functions (CppNode), and operators "
    "in a namespace that is not torch's: over 10% of a step by operator and module, without the "
    "operators of torch in them.",
    fix="Profile it (perf; with_stack=True for Python). Rewrite it with torch operators, or "
    "vectorize it (at::vec) and use all threads (at::parallel_for). Do not loop over elements in "
    "Python. Save in the forward what its backward would recompute.",
    reference="PyTorch, Custom C++ and CUDA Operators",
    confidence="medium",
    find=_find_custom_operator,
)


# Garbage collections of Python, where the model runs on the CPU.


_SHARE_OF_COLLECTIONS = 0.01
"""Part of a step from which on they count."""

_OWN = "If each step calls gc.collect(), leave that out."


def _find_garbage_collection(context: Context) -> Iterator[Occurrence]:
    found = (context.host.role == Role.COLLECTION) & context.rows.counted
    rows = np.flatnonzero(found)
    time = context.call_tree.duration[rows]
    held = context.steps.us_per_step(time.sum())
    if not (context.on_host and held > _SHARE_OF_COLLECTIONS * context.steps.duration_us):
        return
    yield Occurrence(
        place="garbage collection",
        evidence=f"{format_count(len(rows), 'collection')} in {context.steps.text} take "
        f"{context.us_text(held)}, {held / context.steps.duration_us:.1%} of it, and "
        f"{format_us(time.max() / 1000)} at most",
        host=context.rows.host_time(found),
        examples=context.call_tree.start[rows],
    )


GARBAGE_COLLECTION = Rule(
    id="garbage-collection",
    family="host",
    title="Python collects garbage during steps",
    description="Where the model runs on the CPU: the recorder's marks on collections of Python's "
    "older objects, over 1% of a step.",
    fix=f"{_OWN} Call gc.freeze() once model, optimizer and data are built, so that collections "
    "leave them out. Or call gc.disable(), and gc.collect(1) every few hundred steps. Make fewer "
    "objects per step: reference cycles, lists of Python numbers.",
    reference="Python, module gc: freeze, disable",
    find=_find_garbage_collection,
)


# More threads of operators than cores.


def _find_threads_oversubscribed(context: Context) -> Iterator[Occurrence]:
    manifest = context.analysis.trace.manifest
    host = manifest.host if manifest is not None and context.on_host else None
    if host is None or host.threads * host.processes <= host.cores:
        return
    several = f" in each of {host.processes} processes" if host.processes > 1 else ""
    yield Occurrence(
        place="threads of operators",
        evidence=f"torch computes with {format_count(host.threads, 'thread')}{several}, and "
        f"{'one core is' if host.cores == 1 else f'{host.cores:g} cores are'} there for this "
        "process",
        latent="threads that wait for a core hold up the operator that waits for all of them; a "
        "trace does not show for how long, nor how long it would take with fewer, so no saving is "
        "predicted",
        claims_gain=False,
        fix=f"Call torch.set_num_threads({max(1, int(host.cores // host.processes))}), or set "
        "OMP_NUM_THREADS to that before torch is imported. Time some steps with both: a trace "
        "cannot predict it.",
    )


THREADS_OVERSUBSCRIBED = Rule(
    id="threads-oversubscribed",
    family="host",
    title="Operators use more threads than there are cores",
    description="Where the model runs on the CPU: the recorder's manifest has more threads of "
    "torch, times the processes of the run on this machine, than cores that the process may use "
    "(by its affinity, and by the limit of its container). What it costs cannot be predicted from "
    "a trace: an operator's time there holds the waits of its threads, and nothing says which.",
    fix="Call torch.set_num_threads with the cores of the process, or set OMP_NUM_THREADS before "
    "torch is imported.",
    reference="PyTorch Performance Tuning Guide: CPU specific optimizations",
    find=_find_threads_oversubscribed,
    advice=("host-cpu-tuning",),
)
