"""Shapes and types of operators' inputs, where the trace was recorded with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tb_hookview.analysis.host.inputs import inputs_of_call
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.rules.engine.context import Context

Inputs = list[tuple[list[Any], str]]
"""Shape and type of each input; `[]` and "" for what is no tensor."""


def inputs_of(context: Context, rows: TreeRow) -> tuple[list[Inputs], Int]:
    """Inputs of some call tree rows.

    Returns:
        Distinct inputs, and the index into them of each row's; -1 without recorded shapes and
        types, and for row -1.
    """
    events, texts = context.analysis.trace.events, context.analysis.trace.texts
    event = lookup(context.call_tree.event, rows)
    shapes, types = (
        lookup(column.astype(np.int64), event) for column in (events.shapes, events.types)
    )
    known = (shapes > 0) & (types > 0)
    distinct, place = unique_inverse(shapes[known] * len(texts) + types[known])
    index = np.full(len(rows), -1, np.int64)
    index[known] = place
    pairs = (divmod(pair, len(texts)) for pair in distinct.tolist())
    calls = (inputs_of_call(texts, *pair) for pair in pairs)
    return [[(each.shape, each.type) for each in call] for call in calls], index


def with_inputs(context: Context, wanted: Bool, test: Callable[[Inputs], bool]) -> Bool:
    """Whether the inputs of each of some rows pass a test. It is run once for equal inputs.

    Rows without recorded shapes and types do not pass.
    """
    rows = np.flatnonzero(wanted)
    distinct, index = inputs_of(context, rows)
    passes = np.array([*map(test, distinct), False], bool)
    found = np.zeros(len(wanted), bool)
    found[rows] = passes[index]
    return found


def with_value(context: Context, wanted: Bool, place: int, value: str) -> Bool:
    """Whether an input of each of some rows, at a place from 0, was recorded with a value."""
    events, texts = context.analysis.trace.events, context.analysis.trace.texts
    rows = np.flatnonzero(wanted)
    event = context.call_tree.event[rows]
    columns = zip(events.shapes[event], events.types[event], events.concrete[event], strict=True)
    calls = [tuple(map(int, each)) for each in columns]
    values = {each: [one.value for one in inputs_of_call(texts, *each)] for each in set(calls)}
    found = np.zeros(len(wanted), bool)
    found[rows] = [values[each][place : place + 1] == [value] for each in calls]
    return found


def types_with(context: Context, word: str) -> Bool:
    """Call tree rows whose recorded input types contain a word."""
    texts, types = context.analysis.trace.texts, context.analysis.trace.events.types
    mine = types[context.call_tree.event]
    held = np.zeros(len(texts), bool)
    held[mine] = True
    held[[text for text in np.flatnonzero(held).tolist() if word not in texts[text]]] = False
    return np.asarray(held[mine])
