"""Ranges by which schedules of pipelines mark the forward and the backward of a microbatch.

The nodes of a forward in the window of a recording may be evaluated after it, and chunks of the
backward may run outside of autograd's engine: there these ranges are all that shows the phase. A
convention counts where the trace has ranges of both directions.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import isin, unique, unique_inverse
from tb_hookview.arrays.types import Bool, Int, TreeRow

_CONVENTIONS = (
    # DualPipe: `attn(F)`; (W) is the gradient of weights
    (r".+\(F\)", r".+\([BW]\)"),
    # Megatron's timers
    (r"forward-compute", r"backward-compute"),
    # torch.distributed.pipelining: single stages, then schedules of several (I: of inputs)
    (r"Forward \d+", r"Backward \d+"),
    (r"PP:\d+F\d*", r"PP:\d+[BIW]\d*"),
)


_MICROBATCH = re.compile(
    r"PP:(?P<stage>\d+)(?P<letter>[FBIW])(?P<n>\d*)|(Forward|Backward) (?P<number>\d+)"
    r"|(forward|backward)-compute"
)
"""Names of ranges of which each is the work on one microbatch in one stage."""
_FORWARD = re.compile(r"PP:\d+F\d*|[Ff]orward.*")


class MicrobatchRanges(NamedTuple):
    """Ranges that are the work of a stage on one microbatch each, in order; shape (k,)."""

    row: TreeRow
    stage: Int
    """As the range names it, -1 where it does not."""
    number: Int
    """Microbatch as the range names it, -1 where it does not."""
    backward: Bool

    @property
    def forward_rows(self) -> TreeRow:
        """Those of the forward."""
        return self.row[~self.backward]


def microbatch_ranges(host: HostRows) -> MicrobatchRanges:
    """Find the ranges that are the work of a stage on one microbatch each."""
    rows = host.named(lambda name: _MICROBATCH.fullmatch(name) is not None)
    rows = rows[host.role[rows] == Role.LABEL]
    names, of_row = unique_inverse(host.string[rows])
    texts = [host.trace.strings[each] for each in names.tolist()]
    found = [_MICROBATCH.fullmatch(text) for text in texts]
    stages = [_number(each and each["stage"]) for each in found]
    numbers = [_number(each and (each["n"] or each["number"])) for each in found]
    backward = [_FORWARD.fullmatch(text) is None for text in texts]
    stage, number = (np.array(each, np.int64)[of_row] for each in (stages, numbers))
    return MicrobatchRanges(rows, stage, number, np.array(backward, bool)[of_row])


def _number(text: str | None) -> int:
    return int(text) if text else -1


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
