"""Device events launched by operators that tensor cores could serve."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.device.kinds import DeviceEventKinds
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.trace import EventCategory

_OF_TORCH_TB_PROFILER = (
    "aten::_convolution aten::conv1d aten::conv2d aten::conv3d aten::conv_tbc"
    " aten::conv_transpose1d aten::conv_transpose2d aten::conv_transpose3d aten::convolution"
    " aten::cudnn_convolution aten::cudnn_convolution_transpose aten::prelu aten::addmm aten::addmv"
    " aten::addr aten::matmul aten::mm aten::mv aten::linear aten::addbmm aten::baddbmm aten::bmm"
    " aten::chain_matmul aten::linalg_multi_dot aten::_thnn_fused_lstm_cell"
    " aten::_thnn_fused_gru_cell aten::lstm_cell aten::gru_cell aten::rnn_tanh_cell"
    " aten::rnn_relu_cell CudnnConvolutionBackward BmmBackward0"
    " aten::cudnn_convolution_transpose_backward CudnnConvolutionTransposeBackward MmBackward"
    " aten::cudnn_convolution_backward_weight aten::addmm_ AddmvBackward MvBackward"
    " aten::cudnn_convolution_transpose_backward_weight"
    " aten::cudnn_convolution_transpose_backward_input AddmmBackward"
    " aten::cudnn_convolution_backward_input AddbmmBackward aten::cudnn_convolution_backward"
)
_SINCE = (
    "aten::convolution_backward aten::convolution_overrideable aten::miopen_convolution"
    " aten::miopen_convolution_add_relu aten::cudnn_convolution_relu"
    " aten::cudnn_convolution_add_relu aten::_addmm_activation aten::_scaled_mm aten::_grouped_mm"
    " aten::_scaled_dot_product_flash_attention aten::_scaled_dot_product_efficient_attention"
    " aten::_scaled_dot_product_cudnn_attention aten::_flash_attention_forward"
    " aten::_efficient_attention_forward aten::_flash_attention_backward"
    " aten::_efficient_attention_backward aten::_cudnn_attention_forward"
    " aten::_cudnn_attention_backward aten::_cudnn_rnn aten::_cudnn_rnn_backward"
    " aten::_thnn_fused_lstm_cell_backward_impl"
)
OPERATORS = frozenset(f"{_OF_TORCH_TB_PROFILER} {_SINCE}".split())
"""Operators that tensor cores can serve: torch_tb_profiler's, and those that torch has since."""


def eligible_operators(
    host: HostRows, device_events: DeviceEvents, kinds: DeviceEventKinds
) -> Bool:
    """Operators that tensor cores can serve, shape (n,).

    An operator is also eligible if it launched a kernel on tensor cores, whatever its name.
    """
    operator = host.kind == EventCategory.OPERATOR
    listed = np.array([text in OPERATORS for text in host.trace.strings.texts] or [False])
    eligible = operator & listed[host.string]
    launcher = _launchers(host, device_events)
    eligible[launcher[(kinds.tensor_core == 1) & (launcher >= 0)]] = True
    return np.asarray(eligible)


def _launchers(host: HostRows, device_events: DeviceEvents) -> TreeRow:
    return lookup(host.any_operator_around, device_events.launch)


def tensor_core_eligible(
    host: HostRows, device_events: DeviceEvents, kinds: DeviceEventKinds
) -> Bool:
    """Device events that an innermost eligible operator launched itself, shape (d,)."""
    eligible = eligible_operators(host, device_events, kinds)
    outer = np.zeros(len(host), bool)
    row = np.flatnonzero(eligible)
    while len(row):
        row = unique(host.call_tree.parent[row])
        row = row[(row >= 0) & ~lookup(outer, row).astype(bool)]
        outer[row] = True
    innermost = (eligible & ~outer).astype(np.int64)
    return np.asarray(lookup(innermost, _launchers(host, device_events)) > 0)
