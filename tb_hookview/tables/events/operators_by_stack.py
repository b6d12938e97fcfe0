"""Operators by name and place in the program."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.operators import OperatorCalls
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import first_index, unique_inverse
from tb_hookview.arrays.types import Int
from tb_hookview.tables.events.operator_columns import by_stack, operator_columns, stacks_of
from tb_hookview.tables.model.values import Arrays, Texts


def operators_by_stack(selection: Selection) -> Arrays:
    """The table `operators_by_stack`: those with a call that began in a selected step."""
    calls = OperatorCalls(selection)
    stacks = stacks_of(calls)
    groups = by_stack(calls, stacks)
    number = stacks.of[first_index(calls.rows, groups.first)]

    def texts(places: Int) -> Texts:
        distinct, place = unique_inverse(number[places])
        stacked = ["\n".join(stacks.frames(stack)) or None for stack in distinct.tolist()]
        return Texts(stacked, place)

    return Arrays(np.arange(len(groups.count)), {**operator_columns(groups), "stack": texts})
