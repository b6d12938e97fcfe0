"""Columns that the tables of utilization have."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.utilization import Utilization
from tb_hookview.arrays.types import Float
from tb_hookview.tables.events.names import Columns
from tb_hookview.tables.events.operator_columns import ratio
from tb_hookview.tables.model.values import Numbers


def utilization_columns(analysis: Analysis, of: Utilization, whole: Float) -> Columns:
    """The columns of `schema.kernels.Utilization`; `whole` is the time that `mfu` is a share of."""
    known = of.flops > 0
    mostly = of.unknown <= of.spent
    launches = np.full(len(known), analysis.launches_known)
    return {
        "device_us": lambda i: Numbers(of.device[i] / 1000, launches[i]),
        "flops": lambda i: Numbers(of.flops[i], known[i]),
        "recomputed_flops": lambda i: Numbers(of.recomputed[i], known[i]),
        "flops_us": lambda i: Numbers(of.spent[i] / 1000, known[i]),
        "unknown_us": lambda i: Numbers(of.unknown[i] / 1000, launches[i]),
        "tflop_per_s": lambda i: ratio(of.flops[i], of.spent[i] * 1000),
        "peak_share": lambda i: ratio(of.at_peak[i], of.spent[i]),
        "flop_per_byte": lambda i: ratio(of.flops[i], of.moved[i]),
        "mfu": lambda i: ratio(np.where(mostly, of.model_at_peak, np.nan)[i], whole[i]),
    }
