"""Kernels that compute in double precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.inputs import Inputs, types_with, with_inputs
from tb_hookview.rules.evidence.precision import in_float64

_SHARE = 0.005
_KEPT = 0.5
"""Of the time that stays where memory is the bound; of arithmetic far less does."""


_MOVES = ("copy", "communication")
_OTHER_TYPES = r"sgemm|<float[,>]|c10::Half|BFloat16"


def _asked_in_float64(context: Context) -> Bool:
    """Work of torch's operators that compute with tensors of type double, shape (d,).

    A tensor without dimensions does not make an operator compute in its type.
    """
    wanted = types_with(context, "double") & context.beginning("aten::")
    if not wanted.any():
        return np.zeros(len(context.work), bool)
    operator = context.operator_of(context.analysis.device_events.launch)
    launching = np.zeros(len(context.call_tree), bool)
    launching[operator[operator >= 0]] = True
    rows = with_inputs(context, wanted & launching, _has_double)
    asked = (operator >= 0) & rows[operator]
    if not asked.any():
        return np.asarray(asked)
    other = context.of_kinds(*_MOVES) | context.work_matching(_OTHER_TYPES)
    return np.asarray(asked & ~other)


def _has_double(inputs: Inputs) -> bool:
    return any(kind == "double" and shape for shape, kind in inputs)


def _match(context: Context) -> Iterator[Occurrence]:
    found = (in_float64(context) | _asked_in_float64(context)) & context.work
    share, time = context.device_share(found), context.device_us(found)
    if share < _SHARE:
        return
    yield Occurrence(
        place="kernels of type double",
        everywhere=True,
        evidence=f"{time:.1f} us a step ({share:.1%} of the busy time) in "
        f"{_operators(context, np.flatnonzero(found))}",
        count=int(np.count_nonzero(found)),
        wasted=np.flatnonzero(found),
        saved=1 - _KEPT,
        examples=context.work_starts(found),
    )


def _operators(context: Context, found: Int) -> str:
    """The operators whose kernels (rows of work) these are, dearest first."""
    work = context.analysis.device_events
    operator = context.operator_of(work.launch[found])
    string = np.where(operator >= 0, context.host.string[operator], -1)
    rows, place = unique_inverse(string)
    time = np.bincount(place, weights=work.duration[found])
    texts = context.analysis.trace.strings
    names = [texts[int(rows[i])] if rows[i] >= 0 else "no operator" for i in np.argsort(-time)]
    return ", ".join(names[:4]) + (", and others" if len(names) > 4 else "")


RULE = Rule(
    id="fp64-kernels",
    family="precision",
    title="The device computes in double precision",
    matches="Kernels whose first template argument is double, products in double, or kernels of "
    "operators with tensors of type double (where input types were recorded), in 0.5 % of the busy "
    "time or more.",
    fix="Cast in the dataset (np.float32) and pass dtype= where tensors are made of Python or "
    "numpy values. Keep float64 for the few numbers that need it, and sum them seldom.",
    reference="NVIDIA tables of throughput by precision",
    match=_match,
)
