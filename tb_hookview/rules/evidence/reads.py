"""Values that syncs bring to the host: what they are read for."""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np

from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.rules.engine.by_place import OPERATOR
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.syncs import Direction
from tb_hookview.rules.evidence.inputs import Inputs, inputs_of

_READS = ("aten::item", "aten::_local_scalar_dense")
_MOVES = ("aten::to", "aten::_to_copy", "aten::detach", "aten::lift_fresh", "aten::clone")
_INTEGERS = ("long", "long int", "int", "short", "short int", "unsigned char", "signed char")
_SIZES = re.compile(
    r"(?i)split|all_?2_?all|all_?to_?all|a2a|length|offset|jagged|(?<![a-z])dist(?![a-z])"
)
"""Annotations of code that exchanges or splits batches (torchrec, expert parallelism)."""
_COUNTS = ("aten::sum", "aten::count_nonzero")
_NORMS = ("aten::linalg_vector_norm", "aten::norm", "aten::_foreach_norm", "aten::linalg_norm")
_SCALES = ("aten::_amp_update_scale_",)


class Purpose(IntEnum):
    """What a value is read for, as far as its type and what is around it show."""

    METRIC = 0
    """A loss or a metric, or unknown."""
    SIZE = 1
    """A size, a split, an index: an integer that is not counted up right before."""
    FLAG = 2
    """A test of a tensor."""
    NORM = 3
    """A norm."""
    SCALE = 4
    """The loss or its scale, right after the scale is updated."""
    PRINT = 5
    """The text of a tensor."""


SIZES = (
    "Keep sizes, splits and indices on the host from the start: take them from the data pipeline, "
    "or from a copy of the lengths that stays there. Read what only the device knows once for all, "
    "a batch ahead: into pinned memory with non_blocking=True, and after an event. Pass sizes to "
    "operators that take them (output_size, permuted_lengths_sum). Pad where sizes can be equal."
)
"""Remedy where sizes are read."""


def purposes(context: Context) -> Int:
    """`Purpose` of each sync that reads a value, shape (s,)."""
    syncs = context.syncs
    read = syncs.outermost("|".join(_READS))
    before = syncs.before(read, *_READS, *_MOVES)
    _, integer, flag = _types(context)
    counted = syncs.named(before, *_COUNTS)
    found = np.full(len(syncs), Purpose.METRIC, np.int64)
    found[syncs.named(before, *_NORMS)] = Purpose.NORM
    found[syncs.named(before, *_SCALES)] = Purpose.SCALE
    found[(integer & ~counted) | in_exchange(context)] = Purpose.SIZE
    found[_in_library(context)] = Purpose.SIZE
    found[flag] = Purpose.FLAG
    found[syncs.prints] = Purpose.PRINT
    return found


def sizes_copied(context: Context) -> Bool:
    """Syncs that copy integers to the host where batches are exchanged or split, shape (s,)."""
    to_host = context.syncs.direction == Direction.TO_HOST
    known, integer, _ = _types(context)
    return np.asarray(to_host & in_exchange(context) & (integer | ~known))


def in_exchange(context: Context) -> Bool:
    """Syncs under an annotation of code that exchanges or splits batches, shape (s,)."""
    texts, sides = context.analysis.trace.strings, np.stack(context.syncs.labels)
    wanted = [name for name in unique(sides).tolist() if name >= 0 and _SIZES.search(texts[name])]
    return np.asarray(isin(sides, wanted).any(axis=0))


def _in_library(context: Context) -> Bool:
    """Syncs of values that an operator of another library reads itself, shape (s,)."""
    names = context.syncs.names(context.syncs.outermost(OPERATOR)).tolist()
    return np.array([bool(name) and not name.startswith("aten::") for name in names], bool)


def _types(context: Context) -> tuple[Bool, Bool, Bool]:
    """Whether the first input of each sync's operator is recorded, an integer, or a flag."""
    distinct, place = inputs_of(context, context.syncs.operator)
    kinds = np.array([*map(_type, distinct), ""], object)[place]
    return kinds != "", np.isin(kinds, _INTEGERS), kinds == "bool"


def _type(inputs: Inputs) -> str:
    """Type of the first tensor that has one."""
    return next((kind for _, kind in inputs if kind), "")
