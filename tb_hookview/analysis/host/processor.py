"""Whether the model runs on the CPU: by the recorder, or by operators that exist for it alone."""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.host.operators import OperatorRows
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.types import Bool
from tb_hookview.trace import EventCategory

_ON_CPU = re.compile(r"aten::(mkldnn_|_nnpack_spatial|_slow_conv2d_|slow_conv3d|\w+_for_cpu$)")
"""oneDNN, NNPACK, and torch's own loops; a device has convolutions and attention of its own.

CUDA without cuDNN has `_slow_conv2d`, too, and returns from it as soon as it is launched.
"""
_MOST = 0.5
"""Share of the operators' time from which on such operators are the model, and not its inputs."""


def runs_on_cpu(host: HostRows, operators: OperatorRows, in_backward: Bool) -> bool:
    """Whether most of the time of operators is in those that only a CPU runs.

    The backward runs where the forward did, by operators that do not say where. A trace with calls
    of a device's runtime has a device.

    Args:
        host: rows of a trace without device events.
        operators: which of them are operators.
        in_backward: rows inside autograd nodes, shape (n,).
    """
    if (host.trace.events.kind == EventCategory.RUNTIME).any():
        return False
    texts = host.trace.strings.texts
    proves = np.array([_ON_CPU.match(text) is not None for text in texts] or [False])
    known = operators.named & (host.kind == EventCategory.OPERATOR) & ~in_backward
    proven = known & host.call_tree.inside(known & proves[host.string])
    time = operators.self_host
    return bool(proven.any() and time[proven].sum() >= _MOST * time[known].sum())
