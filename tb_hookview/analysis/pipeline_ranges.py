"""Ranges by which schedules of pipelines mark the forward and the backward of a microbatch.

The nodes of a forward in the window of a recording may be evaluated after it, and chunks of the
backward may run outside of autograd's engine: there these ranges are all that shows the phase. A
convention counts where the trace has ranges of both directions.
"""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import Bool, Nanoseconds

_CONVENTIONS = (
    # DualPipe: `attn(F)`; (W) is the gradient of weights
    (r".+\(F\)", r".+\([BW]\)"),
    # Megatron's timers
    (r"forward-compute", r"backward-compute"),
    # torch.distributed.pipelining: single stages, then schedules of several (I: of inputs)
    (r"Forward \d+", r"Backward \d+"),
    (r"PP:\d+F\d*", r"PP:\d+[BIW]\d*"),
)


_MICROBATCHES = re.compile(r"forward-compute|Forward \d+|PP:\d+F\d*")
"""Names of ranges of which each is the forward of one microbatch through one stage."""


def microbatch_starts(host: HostRows) -> Nanoseconds:
    """Start of each range that is the forward of one microbatch."""
    rows = host.named(lambda name: _MICROBATCHES.fullmatch(name) is not None)
    return np.asarray(host.call_tree.start[rows[host.role[rows] == Role.LABEL]])


def pipeline_ranges(host: HostRows) -> tuple[Bool, Bool]:
    """Ranges of the forward and of the backward among the rows of the call tree, shape (n,)."""
    labels = host.role == Role.LABEL
    names = {string: host.trace.strings[string] for string in unique(host.string[labels]).tolist()}
    forward, backward = np.zeros((2, len(host)), bool)
    for ahead, back in _CONVENTIONS:
        both = [[s for s, text in names.items() if re.fullmatch(p, text)] for p in (ahead, back)]
        if all(both):
            forward |= labels & isin(host.string, both[0])
            backward |= labels & isin(host.string, both[1])
    return forward, backward
