"""Estimated occupancy: where the profiler wrote 0 for unknown."""

from __future__ import annotations

import json
from math import prod
from typing import Any

import numpy as np

from tb_hookview.arrays.types import Float
from tb_hookview.trace.columns.trace import StringTable

_WARP = 32
"""Threads; AMD's have more, and no estimate of occupancy."""


def drop_impossible_occupancy(columns: dict[str, Any], texts: StringTable) -> None:
    """Make an occupancy of 0 with at least one warp per multiprocessor NaN, in place.

    libkineto writes 0 where its model of the device does not fit the kernel (more shared memory
    than a block has by default). One warp of the 64 of a multiprocessor is over 1%; less than one
    rounds to 0.
    """
    occupancy: Float = columns["occupancy"]
    blocks, shapes = columns["blocks_per_sm"], columns["block"]
    if not len(occupancy) or not len(blocks) or not len(shapes):
        return
    zero = np.flatnonzero((occupancy == 0) & ~np.isnan(blocks))
    distinct, which = np.unique(shapes[zero], return_inverse=True)
    warps = np.array([_warps(texts[shape]) for shape in distinct.tolist()], np.int64)
    occupancy[zero[blocks[zero] * warps[which] >= 1]] = np.nan


def _warps(block: str) -> int:
    """Warps of a block of threads, given as a JSON list; 0 where it is none."""
    try:
        sizes = json.loads(block or "null")
        threads = int(prod(sizes))
    except (ValueError, TypeError, OverflowError):
        return 0
    return -(-threads // _WARP)
