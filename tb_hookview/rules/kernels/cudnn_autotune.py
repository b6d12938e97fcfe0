"""cuDNN picks its algorithms by a guess; no trace tells what trying them would gain."""

from __future__ import annotations

from tb_hookview.rules.engine.rule import Rule

RULE = Rule(
    id="cudnn-autotune",
    family="kernels",
    title="Convolutions may run by a slower algorithm than there is",
    matches="Not told from a trace: what another algorithm takes shows only when it is tried.",
    fix="Where shapes stay the same, set torch.backends.cudnn.benchmark = True and compare. Where "
    "they change leave it off, or pad to a few sizes. Deterministic mode limits the choice.",
    reference="PyTorch, Performance Tuning Guide: cuDNN auto-tuner",
    confidence="low",
)
