"""Whether another device would help. A trace tells how busy this one was, no more."""

from __future__ import annotations

from tb_hookview.rules.engine.rule import Rule

RULE = Rule(
    id="device-choice",
    family="host",
    title="A faster device would not help while the host is the limit",
    matches="Nothing in a trace but its device's name, and how long it was busy.",
    fix="Remove what keeps the host busy first. Choose a device by compute, memory and price when "
    "this one is busy for nearly all of a step.",
    reference="torch.compile tutorial: devices of compute capability 7.0 and above",
    confidence="low",
)
