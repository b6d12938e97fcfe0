"""What-ifs by the names that users have for things: findings, modules, kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tb_hookview import schema
from tb_hookview.analysis.selection import Selection
from tb_hookview.report.build import step_rows
from tb_hookview.rules.diagnosis import without as without_findings
from tb_hookview.simulation import whatif
from tb_hookview.simulation.changes import together
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator


def what_if(
    selection: Selection,
    without: Iterable[str] = (),
    scale: Mapping[str, float] | None = None,
    simulator: Simulator | None = None,
) -> schema.WhatIf:
    """Predict the length of a step with something taken out or scaled.

    Args:
        selection: the trace, or some of its steps.
        without: ids of findings that are to be gone, or of rules for all of theirs.
        scale: factors by what they are of (`host`, `kernels`, `kind:copy`, `module:layer1`).
        simulator: that of the selection, where there is one already.

    Raises:
        UsageError: there is nothing of that name, or a factor is none.
    """
    names = list(without)
    changes = [scaled(selection.analysis, scale or {})]
    if names:
        changes.append(without_findings(selection, step_rows(selection), names))
    return whatif.what_if(simulator or Simulator(selection), together(changes))
