"""Syncs in operators that no other rule explains."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Rule


def _explains(context: Context) -> Bool:
    return np.ones(len(context.syncs), bool)


RULE = Rule(
    id="sync-in-operator",
    family="sync",
    title="An operator synchronizes with the device",
    description="A sync inside an operator that no other rule explains.",
    fix="Find the cause: torch.cuda.set_sync_debug_mode('warn') names the line. Then move it out "
    "of the loop, or use a form of the operator that needs nothing from the host.",
    reference="torch.cuda.set_sync_debug_mode",
    confidence="medium",
    explains=_explains,
)
