"""How full a device's memory is. It is not among what is read from traces."""

from __future__ import annotations

from tb_hookview.analysis.rules.rule import Rule

RULE = Rule(
    id="memory-near-limit-or-idle",
    family="memory",
    title="The memory of the device may be nearly full",
    matches="Nothing that is read from a trace: torch.cuda.memory_stats() tells the peak and the "
    "number of allocations that had to be tried again.",
    fix="Above nine tenths of the device's memory, lower the peak: lower precision, checkpointing, "
    "a smaller batch. Below one half, a larger batch may do more in the same time.",
    reference="torch.cuda.memory_stats; torch_tb_profiler, memory recommendation",
    confidence="medium",
)
