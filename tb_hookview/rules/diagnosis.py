"""What all rules find in a trace."""

from __future__ import annotations

from typing import NamedTuple

from tb_hookview import schema
from tb_hookview.analysis.selection import Selection
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.cost_accounting import findings
from tb_hookview.schema import PROFILER


class Diagnosis(NamedTuple):
    """What the rules find in a trace."""

    causes: list[str]
    """Id of the rule that explains each sync of the trace; `profiler` for the profiler's own."""
    findings: list[schema.Finding]


def diagnose(selection: Selection, step_rows: list[schema.Step]) -> Diagnosis:
    """Ask every rule about the selected steps of a trace."""
    context = Context(selection, step_rows, RULES)
    causes = [RULES[rule].id if rule >= 0 else PROFILER for rule in context.explained.tolist()]
    return Diagnosis(causes, findings(context))
