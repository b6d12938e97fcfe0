"""Single rules asked about a trace."""

from __future__ import annotations

from pathlib import Path

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.rules.catalogue import ADVICE, RULES
from tb_hookview.rules.diagnosis import causes_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.cost_accounting import findings
from tb_hookview.rules.engine.rule import Rule
from tb_hookview.rules.gains import with_gains
from tb_hookview.schema import Finding
from tb_hookview.simulation.alone import Alone
from tb_hookview.simulation.simulator import Simulator

PLACE = {rule.id: place for place, rule in enumerate(RULES)}


def diagnosed(path: Path) -> Diagnosed:
    """Findings of a trace file by rule."""
    return Diagnosed(load(path))


class Diagnosed:
    """Findings of a trace by rule.

    A rule is asked when it is looked up, with those of higher priority only: they are charged
    first. Gains are those of its own findings.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._selection = select(analysis, None)

    def __getitem__(self, rule: str) -> list[Finding]:
        context = self._context((*RULES[: PLACE[rule] + 1], *ADVICE))
        found = [one for one in findings(context) if one.finding.rule == rule]
        return with_gains(context, found, Alone(Simulator(self._selection)))

    def __contains__(self, rule: str) -> bool:
        return bool(self[rule])

    @property
    def rules(self) -> set[str]:
        """All rules that find something."""
        return {each.finding.rule for each in findings(self._context(RULES))}

    @property
    def causes(self) -> list[str]:
        """Cause of each sync, by start."""
        return causes_of(self._context(RULES))

    def _context(self, rules: tuple[Rule, ...]) -> Context:
        return Context(self._selection, rules)
