"""Kernels that compute in double precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.roles import node_name
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.float64 import saved_on_cpu, saved_on_devices
from tb_hookview.rules.evidence.host_operators import units
from tb_hookview.rules.evidence.inputs import Inputs, types_with, with_inputs
from tb_hookview.rules.evidence.precision import in_float64

_SHARE = 0.005
_HOST_SHARE = 0.03
"""Part of a step from which on it counts on the CPU."""
_MOVES = ("copy", "communication")
_OTHER_TYPES = r"sgemm|<float[,>]|c10::Half|BFloat16"


def _asked_in_float64(context: Context) -> Bool:
    """Device events of torch's operators that compute with tensors of type double, shape (d,).

    A tensor without dimensions does not make an operator compute in its type.
    """
    wanted = types_with(context, "double") & context.rows.beginning("aten::")
    if not wanted.any():
        return np.zeros(len(context.device_events.counted), bool)
    operator = context.rows.operator_of(context.analysis.device_events.launch)
    launching = np.zeros(len(context.call_tree), bool)
    launching[operator[operator >= 0]] = True
    rows = with_inputs(context, wanted & launching, _has_double)
    asked = (operator >= 0) & rows[operator]
    if not asked.any():
        return np.asarray(asked)
    other = context.device_events.of_kinds(*_MOVES) | context.device_events.matching(_OTHER_TYPES)
    return np.asarray(asked & ~other)


def _has_double(inputs: Inputs) -> bool:
    return any(kind == "double" and shape for shape, kind in inputs)


def _find(context: Context) -> Iterator[Occurrence]:
    return _on_host(context) if context.on_host else _on_devices(context)


def _on_host(context: Context) -> Iterator[Occurrence]:
    """Yield one occurrence for what the CPU computes with tensors of type double."""
    wanted = types_with(context, "double") & context.rows.beginning("aten::")
    wanted &= context.rows.counted
    computing = with_inputs(context, wanted, _has_double) if wanted.any() else wanted
    around = context.rows.outermost_of(units(context), np.flatnonzero(computing))
    rows = np.zeros(len(wanted), bool)
    rows[around[around >= 0]] = True  # of a node the whole
    held = context.rows.host_us(rows)
    if held <= _HOST_SHARE * context.steps.duration_us:
        return
    inner = lookup(context.rows.inside(computing).astype(np.int64), context.call_tree.parent)
    saved = saved_on_cpu(context, computing & (inner != 1))
    names, place = unique_inverse(context.host.string[rows])
    time = np.bincount(place, context.call_tree.duration[rows])
    texts = context.analysis.trace.strings
    listed = ", ".join(node_name(texts[int(names[i])]) for i in np.argsort(-time)[:4])
    yield Occurrence(
        place="operators on type double",
        everywhere=True,
        evidence=f"{context.us_text(held)}, {held / context.steps.duration_us:.0%} of it, in "
        f"{listed}{' and others' if len(names) > 4 else ''}",
        count=int(np.count_nonzero(rows)),
        host=context.rows.host_time(rows),
        saved=min(saved / max(int(context.call_tree.duration[rows].sum()), 1), 1.0),
        examples=context.call_tree.start[rows],
        title="Operators compute in float64",
    )


def _on_devices(context: Context) -> Iterator[Occurrence]:
    found = (in_float64(context) | _asked_in_float64(context)) & context.device_events.counted
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    if share < _SHARE:
        return
    yield Occurrence(
        place="kernels of type double",
        everywhere=True,
        evidence=f"{context.us_text(time)} ({share:.1%} of the busy time) in "
        f"{_operators(context, np.flatnonzero(found))}",
        count=int(np.count_nonzero(found)),
        wasted=np.flatnonzero(found),
        saved=saved_on_devices(context, np.flatnonzero(found)),
        examples=context.device_events.starts(found),
    )


def _operators(context: Context, found: DeviceEventIndex) -> str:
    """The operators of some kernels (rows of device events), most expensive first."""
    work = context.analysis.device_events
    operator = context.rows.operator_of(work.launch[found])
    string = np.where(operator >= 0, context.host.string[operator], -1)
    rows, place = unique_inverse(string)
    time = np.bincount(place, weights=work.duration[found])
    texts = context.analysis.trace.strings
    names = [texts[int(rows[i])] if rows[i] >= 0 else "no operator" for i in np.argsort(-time)]
    return ", ".join(names[:4]) + (", and others" if len(names) > 4 else "")


RULE = Rule(
    id="fp64-kernels",
    family="precision",
    title="Kernels compute in float64",
    description="Kernels whose name says that they compute in double (the type of a template or of "
    "its function for each value; parameters that the host passes do not count), products in "
    "double, or kernels of operators with tensors of type double (where input types were "
    "recorded), in 0.5% of the busy time or more. Where the model runs on the CPU such operators, "
    "with the nodes around them, in 3% of a step or more.",
    fix="Cast in the dataset (np.float32) and pass dtype= where tensors are created from Python or "
    "numpy values. Use float64 only for the few numbers that need it, and sum them seldom.",
    reference="NVIDIA tables of throughput by precision",
    find=_find,
)
