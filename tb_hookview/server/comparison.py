"""The comparison of two traces."""

from __future__ import annotations

from tb_hookview.comparison.compare import compare
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.schema import COUNTED
from tb_hookview.schema.comparison import Compared


def compared(
    base: OpenTrace, other: OpenTrace, *, step: list[str], other_step: list[str]
) -> Compared:
    """What changed between two traces."""
    return Compared(
        comparison=compare(base.data(step or [COUNTED]), other.data(other_step or [COUNTED])),
        base_steps=[each.name for each in base.data().steps],
        other_steps=[each.name for each in other.data().steps],
    )
