"""A finding that explains a straggler: a rule that costs it more than it costs the other ranks.

host-work in b        rank 0: 1 ms    rank 1: 9 ms    rank 2: 1 ms     explains 8 ms of rank 1
allocator in b        rank 0: 11 ms   rank 1: 7 ms    rank 2: 11 ms    explains nothing
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tb_hookview.ranks.late import Reason, beyond, compared
from tb_hookview.rules.catalogue import RULES
from tb_hookview.schema.findings import Family, Finding
from tb_hookview.schema.terms import module_label

_OTHERS = 3
"""Ranks with which the late one is compared: the rules are asked about each."""
_FAMILIES: Mapping[str, Family] = {
    "data": "data-loading",
    "optimizer": "optimizer",
    "sync": "sync",
    "host": "host",
}
"""Rules about what a rank is late for, where that is no module."""

FindingsOf = Callable[[int], Sequence[Finding]]
"""Findings of a rank by its place among the summaries."""


class Lateness(NamedTuple):
    """What a finding has to explain."""

    rank: int
    """Place of the straggler among the ranks."""
    reason: Reason
    on_device: bool
    """Whether it spends more time there on its device, else on its host."""
    least_us: float
    """Time per step of which a finding explains more, microseconds."""


def find_finding(late: Lateness, ranks: int, findings_of: FindingsOf) -> str | None:
    """Find the rule that costs a straggler the most beyond the other ranks' lower median.

    Args:
        late: what the rule has to explain.
        ranks: number of ranks.
        findings_of: asked of the straggler, and of others if a rule may explain enough.
    """
    own = _costs(findings_of(late.rank), late)
    if max(own.values(), default=0.0) <= late.least_us:
        return None
    others = [
        _costs(findings_of(other), late) for other in compared(range(ranks), late.rank, _OTHERS)
    ]
    excess = beyond(own, others)
    rule = max(excess, key=lambda rule: excess[rule])
    return rule if excess[rule] > late.least_us else None


def _costs(findings: Sequence[Finding], late: Lateness) -> dict[str, float]:
    """Cost of each rule about a reason on one side, microseconds per step."""
    kind, module = late.reason
    family = {rule.id for rule in RULES if rule.family == _FAMILIES.get(kind)}
    costs: defaultdict[str, float] = defaultdict(float)
    for finding in findings:
        if _is_of(finding, module) if kind == "module" else finding.rule in family:
            work = finding.device_work_us_per_step or 0.0
            idle = (finding.cost_us_per_step or 0.0) - work
            costs[finding.rule] += work if late.on_device else idle
    return costs


def _is_of(finding: Finding, module: str) -> bool:
    """Whether a finding is about a module: its device work, or what its code does on the host."""
    inside = f"{finding.where},".startswith(f"{module_label(module)},")
    return finding.module == module or (finding.rule == "host-work" and inside)
