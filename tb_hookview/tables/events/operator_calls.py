"""Calls of operators, one by one."""

from __future__ import annotations

from tb_hookview.analysis.operators import OperatorCalls, OperatorGroups
from tb_hookview.analysis.selection import Selection
from tb_hookview.tables.events.names import Columns, Names, owner_columns
from tb_hookview.tables.events.operator_columns import (
    argument,
    by_module,
    by_name,
    by_shape,
    by_stack,
    device_us,
    group_ids,
    ratio,
    stacks_of,
)
from tb_hookview.tables.model.values import Arrays, Numbers, microseconds


def operator_calls(selection: Selection) -> Arrays:
    """The table `operator_calls`: those that began in a selected step."""
    calls, analysis = OperatorCalls(selection), selection.analysis
    names, tree = Names(analysis), analysis.call_tree
    shapes = analysis.trace.events.shapes
    owner = owner_columns(
        analysis,
        names,
        analysis.attribution.row_module,
        analysis.row_node,
        analysis.steps.at(tree.start),
        analysis.phases.row,
    )
    return Arrays(
        calls.rows[selection.rows[calls.rows]],
        {
            "id": lambda i: Numbers(tree.event[i]),
            "name": lambda i: names.event(tree.event[i]),
            **_groups(calls),
            "thread_id": lambda i: Numbers(tree.thread[i]),
            "start_us": lambda i: microseconds(tree.start[i]),
            "host_us": lambda i: microseconds(tree.duration[i]),
            "self_host_us": lambda i: Numbers(calls.self_host[i] / 1000),
            "device_us": device_us(calls, lambda: calls.device),
            "self_device_us": device_us(calls, lambda: calls.self_device),
            "flops": lambda i: Numbers(calls.flops[i], calls.flops[i] > 0),
            "tflop_per_s": lambda i: ratio(calls.flops[i], calls.flops_time[i] * 1000),
            "shapes": lambda i: argument(analysis.trace.texts.texts, shapes[tree.event[i]]),
            **owner,
        },
    )


def _groups(calls: OperatorCalls) -> Columns:
    """The rows of the other tables of operators that each call is part of."""

    def of_stack() -> OperatorGroups:
        return by_stack(calls, stacks_of(calls))

    return {
        "operator_id": lambda i: Numbers(group_ids(by_name(calls))[i]),
        "by_shape_id": lambda i: Numbers(group_ids(by_shape(calls))[i]),
        "by_stack_id": lambda i: Numbers(group_ids(of_stack())[i]),
        "by_module_id": lambda i: Numbers(group_ids(by_module(calls))[i]),
    }
