"""Settings of the host that a trace does not show."""

from __future__ import annotations

from tb_hookview.rules.engine.rule import Rule

RULE = Rule(
    id="host-cpu-tuning",
    family="host",
    title="The host may be slower than it has to be",
    matches="Nothing in a trace: only a run with other settings shows it.",
    fix="Try jemalloc or tcmalloc by LD_PRELOAD. Bind the process to the cores next to its device. "
    "Set OMP_NUM_THREADS, and torch.set_num_threads in workers, so that threads do not compete.",
    reference="PyTorch Performance Tuning Guide: CPU specific optimizations",
    confidence="medium",
)
