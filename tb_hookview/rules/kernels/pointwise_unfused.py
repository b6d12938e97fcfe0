"""Elementwise kernels and reductions that follow each other directly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import first_of_each, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import in_float64
from tb_hookview.schema import Phase

_EAGER = (
    r"vectorized_elementwise_kernel|unrolled_elementwise_kernel| elementwise_kernel<"
    r"|:elementwise_kernel<|elementwise_kernel_manual_unroll|at::native::reduce_kernel"
)
_FUSED = r"^triton_"
_SUMS_GRADIENTS = ("AccumulateGrad", "InputBuffer")
_CHAIN = 3
_SHARE = 0.3
_SAVED = 0.7
_CAVEAT = (
    "That one kernel reads what the one before it wrote is taken from their order alone: the "
    "sizes of tensors are not compared."
)


def _find(context: Context) -> Iterator[Occurrence]:
    if (context.device_events.counted & context.device_events.matching(_FUSED)).any():
        return
    fusible, events = _fusible(context), context.device_events
    launched = events.us_per_step(events.counted)
    if events.us_per_step(fusible) <= _SHARE * launched:
        return
    order, chain = _chains(context, fusible)
    size, length = np.bincount(chain), context.analysis.device_events.duration[order]
    total = np.bincount(chain, weights=length)
    long = size >= _CHAIN
    share = context.steps.us_per_step(total[long].sum()) / launched
    if share <= _SHARE:
        return
    wasted = order[long[chain] & ~_longest(chain, length)]
    waste = context.steps.us_per_step(context.analysis.device_events.duration[wasted].sum())
    yield Occurrence(
        place="the whole step",
        everywhere=True,
        evidence=f"{long.sum()} chains of {_CHAIN} or more elementwise kernels and reductions "
        f"in {context.steps.text} ({size[long].mean():.1f} on average) take {share:.0%} of the "
        f"device time launched; all but the longest kernel of each take {context.us_text(waste)}",
        count=int(size[long].sum()),
        wasted=wasted,
        saved=_SAVED,
        examples=context.analysis.device_events.start[order[first_of_each(chain)[long]]],
        caveats=(_CAVEAT,),
    )


def _longest(chain: Int, length: Nanoseconds) -> Bool:
    """Whether each kernel is the longest of its chain, one of each."""
    order = np.lexsort((length, chain))
    last = np.ones(len(chain), bool)
    last[:-1] = chain[order][1:] != chain[order][:-1]
    found = np.zeros(len(chain), bool)
    found[order[last]] = True
    return found


def _chains(context: Context, wanted: Bool) -> tuple[DeviceEventIndex, Int]:
    """Device events in chains of wanted ones, and the chain of each."""
    work = context.analysis.device_events
    stream = context.analysis.trace.events.thread[work.event].astype(np.int64)
    counted = np.flatnonzero(context.device_events.counted)
    order = counted[np.lexsort((work.start[counted], stream[counted], work.device[counted]))]
    breaks = np.ones(len(order), bool)
    same = (stream[order][1:] == stream[order][:-1]) & wanted[order][1:] & wanted[order][:-1]
    breaks[1:] = ~same
    number = np.cumsum(breaks) - 1
    member = wanted[order]
    return order[member], unique_inverse(number[member])[1]


def _fusible(context: Context) -> Bool:
    """Elementwise kernels and reductions of forward and backward, shape (d,)."""
    work = context.analysis.device_events
    phase = lookup(context.analysis.phases.row, work.launch)
    sums = context.device_events.launched_by(
        context.rows.inside(context.rows.containing(*_SUMS_GRADIENTS))
    )
    wanted = context.device_events.matching(_EAGER) & ~in_float64(context) & ~sums
    return np.asarray(wanted & ((phase == Phase.FORWARD) | (phase == Phase.BACKWARD)))


RULE = Rule(
    id="pointwise-unfused",
    family="kernels",
    title="Elementwise kernels are not fused",
    description="Chains of three or more elementwise kernels and reductions of torch, directly one "
    "after the other on a stream, in more than 30% of the device time launched in the step; in "
    "forward or backward, but not where gradients are summed; and no Triton kernel in the trace. "
    "The cost is all of a chain but its longest kernel.",
    fix="Compile the model or this part of it (torch.compile), or use fused layers: layer_norm, "
    "rms_norm, gelu, cross_entropy, scaled_dot_product_attention.",
    reference="PyTorch, Performance Tuning Guide: fuse operations",
    confidence="medium",
    find=_find,
)
