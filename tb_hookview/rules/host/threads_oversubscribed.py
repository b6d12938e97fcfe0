"""More threads of operators than cores."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule


def _find(context: Context) -> Iterator[Occurrence]:
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


RULE = Rule(
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
    find=_find,
    advice=("host-cpu-tuning",),
)
