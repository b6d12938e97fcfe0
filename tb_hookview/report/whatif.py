"""What-ifs by the names that users have for things: findings, modules, kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.selection import Selection
from tb_hookview.report.build import step_rows
from tb_hookview.rules.diagnosis import find_all, without_findings
from tb_hookview.rules.engine.cost_accounting import Found
from tb_hookview.simulation import whatif
from tb_hookview.simulation.changes import Change, together
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator


class WhatIfs(Struct, frozen=True, dict=True):
    """What-ifs about one selection, which share its dependency graph and its findings."""

    selection: Selection
    """The trace, or some of its steps."""

    def answer(
        self,
        without: Iterable[str] = (),
        scale: Mapping[str, float] | None = None,
        *,
        modules: bool = True,
    ) -> schema.WhatIf:
        """Predict the length of a step with something taken out or scaled.

        Args:
            without: ids of findings that are to be gone, or of rules for all of theirs.
            scale: factors by what they are of (`host`, `kernels`, `kind:copy`, `module:layer1`).
            modules: whether to find the critical path by module, and slack.

        Raises:
            UsageError: there is nothing of that name, or a factor is none.
        """
        return whatif.what_if(self.simulator, self.change(without, scale), modules=modules)

    def change(
        self, without: Iterable[str] = (), scale: Mapping[str, float] | None = None
    ) -> Change:
        """Change that a question is about; arguments and errors are those of `answer`."""
        changes, names = [scaled(self.selection.analysis, scale or {})], list(without)
        if names:
            changes.append(without_findings(self.selection.analysis, self._found, names))
        return together(changes)

    @cached_property
    def simulator(self) -> Simulator:
        """Replays of the selection."""
        return self.selection.derived(Simulator)

    @cached_property
    def _found(self) -> list[Found]:
        return find_all(self.selection, self.selection.derived(step_rows))
