"""Operators by name, shapes, stack or module, and their calls, one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tb_hookview.analysis.host.stacks import StackNumbers, number_stacks
from tb_hookview.analysis.operators import OperatorCalls, OperatorGroups, group_calls
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import first_index, scatter, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Float, Index, Int
from tb_hookview.schema import PHASES
from tb_hookview.tables.events.names import Columns, Names, owner_columns
from tb_hookview.tables.model.columns import Arrays, Numbers, Texts, Values, microseconds


def operator_columns(groups: OperatorGroups) -> Columns:
    """The columns of `schema.Operator`."""
    calls = groups.calls
    analysis = calls.selection.analysis
    first, tree = groups.first, analysis.call_tree

    def on_device(time: Callable[[], Float]) -> Callable[[Int], Values]:
        return device_us(calls, lambda: groups.any(calls.in_graph & calls.selection.rows), time)

    return {
        "id": lambda i: Numbers(tree.event[first[i]]),
        "name": lambda i: Names(analysis).event(tree.event[first[i]]),
        "calls": lambda i: Numbers(groups.count[i]),
        "host_us": lambda i: Numbers(groups.host[i] / 1000),
        "self_host_us": lambda i: Numbers(groups.sum(calls.self_host)[i] / 1000),
        "device_us": on_device(lambda: groups.within(calls.device)),
        "self_device_us": on_device(lambda: groups.sum(calls.self_device)),
        "tensor_core_eligible": lambda i: Numbers(groups.any(calls.eligible)[i]),
        "tensor_core_us": on_device(lambda: groups.within(calls.tensor_core)),
        "self_tensor_core_us": on_device(lambda: groups.sum(calls.self_tensor_core)),
        **_work_columns(groups),
    }


def device_us(
    calls: OperatorCalls, in_graph: Callable[[], Bool], time: Callable[[], Float]
) -> Callable[[Int], Values]:
    """A column of device time; unknown without launches, and of what runs in replayed graphs."""
    known = calls.selection.analysis.launches_known
    return lambda i: Numbers(time()[i] / 1000, ~in_graph()[i] & known)


def _work_columns(groups: OperatorGroups) -> Columns:
    calls = groups.calls

    def counted(values: Float) -> Float:
        """Sums of values over calls with FLOPs: the peak of the others does not matter."""
        return groups.within(np.where(calls.flops > 0, values, 0.0))

    def flops(i: Int) -> Float:
        return groups.flops[i]

    def spent(i: Int) -> Float:
        return groups.flops_time[i]

    return {
        "flops": lambda i: Numbers(flops(i), flops(i) > 0),
        "flops_us": lambda i: Numbers(spent(i) / 1000, spent(i) > 0),
        "tflop_per_s": lambda i: ratio(flops(i), spent(i) * 1000),
        "peak_share": lambda i: ratio(counted(calls.time_at_peak)[i], spent(i)),
        "flop_per_byte": lambda i: ratio(flops(i), counted(calls.bytes)[i]),
    }


def ratio(part: Float, whole: Float) -> Numbers:
    """A column of quotients; unknown where the part is none or unknown, or the whole is."""
    known = (whole > 0) & (part > 0)
    return Numbers(np.divide(part, whole, out=np.zeros(len(part)), where=known), known)


def by_name(calls: OperatorCalls) -> OperatorGroups:
    """Calls by name."""
    return group_calls(calls, calls.selection.analysis.host.string[calls.rows])


def by_shape(calls: OperatorCalls) -> OperatorGroups:
    """Calls by name and shapes of the inputs."""
    analysis = calls.selection.analysis
    shapes = analysis.trace.events.shapes[analysis.call_tree.event[calls.rows]]
    return group_calls(calls, analysis.host.string[calls.rows], shapes.astype(np.int64))


def by_module(calls: OperatorCalls) -> OperatorGroups:
    """Calls by name, module and phase."""
    analysis, rows = calls.selection.analysis, calls.rows
    module, phase = analysis.attribution.row_module[rows], analysis.phases.row[rows]
    return group_calls(calls, analysis.host.string[rows], module, phase)


def stacks_of(calls: OperatorCalls) -> StackNumbers:
    """Stack around each of `calls.rows`, in the backward pass around the forward operator."""
    analysis = calls.selection.analysis
    row = analysis.forward_op_or_self(calls.rows)
    tree = analysis.call_tree
    return number_stacks(analysis.trace, tree.thread[row], tree.start[row])


def by_stack(calls: OperatorCalls, stacks: StackNumbers) -> OperatorGroups:
    """Calls by name and Python frames around them."""
    return group_calls(calls, calls.selection.analysis.host.string[calls.rows], stacks.of)


def group_ids(groups: OperatorGroups) -> Int:
    """Id of the group of each row of the call tree, -1 for rows that are no calls."""
    tree = groups.calls.selection.analysis.call_tree
    return scatter(groups.calls.rows, lookup(tree.event[groups.first], groups.number), len(tree))


def text_column(groups: OperatorGroups, of: str) -> Callable[[Int], Values]:
    """An argument of the first call of each group, as text of the trace."""
    analysis = groups.calls.selection.analysis
    column, event = getattr(analysis.trace.events, of), analysis.call_tree.event
    return lambda i: argument(analysis.trace.texts.texts, column[event[groups.first[i]]])


def argument(texts: tuple[str, ...], number: Index | Int) -> Texts:
    """Arguments by their index in the texts of a trace; 0 is none."""
    return Texts(texts, np.where(number > 0, number, -1).astype(np.int64))


def operators_by_shape(selection: Selection) -> Arrays:
    """The table `operators_by_shape`: those with a call that began in a selected step."""
    groups = by_shape(OperatorCalls(selection))
    return Arrays(
        np.arange(len(groups.count)),
        {
            **operator_columns(groups),
            "shapes": text_column(groups, "shapes"),
            "types": text_column(groups, "types"),
        },
    )


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


def operators_by_module(selection: Selection) -> Arrays:
    """The table `operators_by_module`: those with a call that began in a selected step."""
    groups = by_module(OperatorCalls(selection))
    analysis, first = selection.analysis, groups.first
    module, names = analysis.attribution.row_module, Names(analysis)
    return Arrays(
        np.arange(len(groups.count)),
        {
            **operator_columns(groups),
            **names.module_columns(module[first]),
            "phase": lambda i: Texts(PHASES, analysis.phases.row[first[i]]),
        },
    )


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
            "device_us": device_us(calls, lambda: calls.in_graph, lambda: calls.device),
            "self_device_us": device_us(calls, lambda: calls.in_graph, lambda: calls.self_device),
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
