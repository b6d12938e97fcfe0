"""Sums over groups."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.sums import sum_by


def test_sums_are_exact_and_leave_out_rows_of_no_group() -> None:
    large = 2**62
    group = np.array([1, -1, 1, 3])
    values = np.array([large, 7, 1, 5])
    assert sum_by(group, values, 4).tolist() == [0, large + 1, 0, 5]
    assert sum_by(group, values > 4, 4).tolist() == [0, 1, 0, 1]
