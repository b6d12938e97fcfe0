"""Shapes and types of operators' inputs, where the trace was recorded with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context

Inputs = list[tuple[list[Any], str]]
"""Shape and type of each input; `[]` and "" for what is no tensor."""


def with_inputs(context: Context, wanted: Bool, test: Callable[[Inputs], bool]) -> Bool:
    """Whether the inputs of each of some rows pass a test. It is run once for equal inputs.

    Rows without recorded shapes and types do not pass.
    """
    events, texts = context.analysis.trace.events, context.analysis.trace.texts
    event = context.call_tree.event
    rows = np.flatnonzero(wanted)
    rows = rows[(events.shapes[event[rows]] > 0) & (events.types[event[rows]] > 0)]
    pairs = events.shapes[event[rows]].astype(np.int64) * len(texts) + events.types[event[rows]]
    distinct, place = unique_inverse(pairs)
    passes = [
        test(_inputs(texts[pair // len(texts)], texts[pair % len(texts)]))
        for pair in distinct.tolist()
    ]
    found = np.zeros(len(wanted), bool)
    found[rows] = np.array(passes, bool)[place]
    return found


def types_with(context: Context, word: str) -> Bool:
    """Call tree rows whose recorded input types contain a word."""
    texts, types = context.analysis.trace.texts, context.analysis.trace.events.types
    mine = types[context.call_tree.event]
    held = np.zeros(len(texts), bool)
    held[mine] = True
    held[[text for text in np.flatnonzero(held).tolist() if word not in texts[text]]] = False
    return np.asarray(held[mine])


def _inputs(shapes: str, types: str) -> Inputs:
    try:
        decoded = msgspec.json.decode(shapes), msgspec.json.decode(types)
    except msgspec.DecodeError:
        return []
    if not all(isinstance(each, list) for each in decoded):
        return []
    return [
        (shape if isinstance(shape, list) else [], kind if isinstance(kind, str) else "")
        for shape, kind in zip(*decoded, strict=False)
    ]
