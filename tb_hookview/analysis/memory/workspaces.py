"""Workspaces that libraries of matrix products keep for as long as the process runs.

cuBLAS, cuBLASLt and hipBLAS get one from torch's allocator for each thread and stream, in the first
product there:

    first    mm  |-- result --|-- workspace --|    never freed
    later    mm  |-- result --|

By its size it may be a gradient: on Hopper it is 32 MiB, that of a weight of 4096 by 4096 halves.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.memory.live import NEVER, Lives
from tb_hookview.arrays.joins import dense_rank, mask_of
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int, TreeRow

_PRODUCTS = (
    *("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::addbmm"),
    *("aten::mv", "aten::addmv", "aten::dot", "aten::vdot"),
    *("aten::_addmm_activation", "aten::_int_mm", "aten::_scaled_mm"),
)
_NAMES = frozenset((*_PRODUCTS, *(f"{name}_" for name in _PRODUCTS)))


def find_workspaces(host: HostRows, lives: Lives, of_device: Bool) -> Bool:
    """Blocks that a product allocated in addition to its result and never freed, shape (b,).

    Args:
        host: host rows.
        lives: lives of the blocks.
        of_device: which of them are memory of a device.
    """
    products, row = host.named(_NAMES.__contains__), lives.birth_row
    outlives = (lives.death > lookup(host.call_tree.end, row)) & (
        lookup(mask_of(products, len(host)), row) == 1
    )
    blocks = np.flatnonzero(outlives)
    found = np.zeros(len(row), bool)
    if len(blocks):
        results = ~_result_is_given(host, products, row[blocks])
        found[blocks] = _earlier_of_row(row[blocks]) >= results[row[blocks]]
    return np.asarray(found & of_device & (lives.death == NEVER))


def _earlier_of_row(row: TreeRow) -> Int:
    """Number of blocks of the same row before each."""
    order = np.argsort(row, kind="stable")
    earlier = np.empty(len(row), np.int64)
    earlier[order] = np.arange(len(row)) - np.searchsorted(row[order], row[order])
    return earlier


def _result_is_given(host: HostRows, products: TreeRow, allocate: TreeRow) -> Bool:
    """Products whose result has its memory already (`out=`), shape (n,).

    They are those of an operator of which one of several calls on a thread allocates.
    """
    group = dense_rank(host.string[products], host.call_tree.thread[products])
    number = int(group.max()) + 1
    allocates = mask_of(allocate, len(host))[products]
    given = (sum_by(group, allocates, number) == 1) & (np.bincount(group) > 1)
    return mask_of(products[given[group]], len(host))
