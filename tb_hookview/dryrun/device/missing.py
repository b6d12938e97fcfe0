"""Kernels that torch has for CUDA and not for the CPU, out of operators that both have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_hookview.dryrun.device import attention

Tensor = torch.Tensor
aten = torch.ops.aten
_HALVES = (torch.float16, torch.bfloat16)


def lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`_thnn_fused_lstm_cell`: hidden state, cell state, gates."""
    gates = input_gates + hidden_gates
    if input_bias is not None and hidden_bias is not None:
        gates = gates + input_bias + hidden_bias
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def lstm_cell_backward(
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    cx: Tensor,
    cy: Tensor,
    workspace: Tensor,
    has_bias: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """`_thnn_fused_lstm_cell_backward_impl`: gradients of gates, cell state, bias."""
    i, f, g, o = workspace.chunk(4, 1)
    t = cy.tanh()
    gh = aten.zeros_like(cy) if grad_hy is None else grad_hy
    gc = aten.zeros_like(cy) if grad_cy is None else grad_cy
    go = gh * t * o * (1 - o)
    gct = gc + gh * o * (1 - t * t)
    gi, gf, gg = gct * g * i * (1 - i), gct * cx * f * (1 - f), gct * i * (1 - g * g)
    gates = torch.cat([gi, gf, gg, go], 1)
    return gates, gct * f, _bias(gates, has_bias)


def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`_thnn_fused_gru_cell`: hidden state, gates."""
    if input_bias is not None and hidden_bias is not None:
        input_gates, hidden_gates = input_gates + input_bias, hidden_gates + hidden_bias
    ir, iz, input_new = input_gates.chunk(3, 1)
    hr, hz, hidden_new = hidden_gates.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (input_new + r * hidden_new).tanh()
    return n + z * (hx - n), torch.cat([r, z, n, hx, hidden_new], 1)


def gru_cell_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """`_thnn_fused_gru_cell_backward`: gradients of both gates, hidden state, both biases."""
    r, z, n, hx, hidden_new = workspace.chunk(5, 1)
    gz = grad_hy * (hx - n) * z * (1 - z)
    gn = grad_hy * (1 - z) * (1 - n * n)
    gr = gn * hidden_new * r * (1 - r)
    of_input, of_hidden = torch.cat([gr, gz, gn], 1), torch.cat([gr, gz, gn * r], 1)
    biases = _bias(of_input, has_bias), _bias(of_hidden, has_bias)
    return of_input, of_hidden, grad_hy * z, *biases


def _bias(gates: Tensor, has_bias: bool) -> Tensor:
    return gates.sum(0) if has_bias else aten.new_empty(gates, [0])


def rms_norm(
    x: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None
) -> tuple[Tensor, Tensor]:
    """`_fused_rms_norm`: the result, and the reciprocal of the root."""
    dims = list(range(-len(normalized_shape), 0))
    wide = x.float() if x.dtype in _HALVES else x
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    rstd = (wide.pow(2).mean(dims, keepdim=True) + eps).rsqrt()
    y = wide * rstd
    return (y if weight is None else y * weight).to(x.dtype), rstd


def rms_norm_backward(
    grad: Tensor,
    x: Tensor,
    normalized_shape: list[int],
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: list[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """`_fused_rms_norm_backward`: gradients of input and weight."""
    dims = list(range(-len(normalized_shape), 0))
    grad = grad.to(rstd.dtype)
    normal = x.to(rstd.dtype) * rstd
    weighted = grad if weight is None else grad * weight
    of_input = (weighted - normal * (weighted * normal).mean(dims, keepdim=True)) * rstd
    of_weight = None
    if weight is not None and output_mask[1]:
        outer = list(range(grad.dim() - len(normalized_shape)))
        product = grad * normal
        of_weight = (product.sum(outer) if outer else product).to(weight.dtype)
    return of_input.to(x.dtype), of_weight


def histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:  # noqa: A002
    """`histc`, of integers too."""
    if x.dtype.is_floating_point:
        return aten.histc(x, bins, min, max)  # type: ignore[no-any-return]
    return aten.histc(x.float(), bins, min, max).to(x.dtype)  # type: ignore[no-any-return]


def depthwise(
    x: Tensor,
    weight: Tensor,
    _size: list[int],
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
) -> Tensor:
    """`_conv_depthwise2d` and `conv_depthwise3d`."""
    zeros, groups = [0] * len(stride), x.size(1)
    out: Tensor = aten.convolution(x, weight, bias, stride, padding, dilation, False, zeros, groups)
    return out


def svd(
    x: Tensor,
    full_matrices: bool = False,
    compute_uv: bool = True,
    driver: str | None = None,  # noqa: ARG001  # of cuSOLVER
    **out: Tensor,
) -> Any:
    """`_linalg_svd` with drivers of cuSOLVER."""
    if out:
        return aten._linalg_svd.U(x, full_matrices, compute_uv, **out)
    return aten._linalg_svd(x, full_matrices, compute_uv)


def softmax(name: str) -> Callable[..., Tensor]:
    """`_softmax` and `_log_softmax`, which on CUDA make single precision out of half."""
    op = getattr(aten, name)

    def run(x: Tensor, dim: int, half_to_float: bool, **out: Tensor) -> Tensor:
        return _into(op(x.float() if half_to_float else x, dim, False), **out)

    return run


def softmax_backward(name: str) -> Callable[..., Tensor]:
    """Their backward: the gradient of the input, in its type."""
    op = getattr(aten, name)

    def run(grad: Tensor, y: Tensor, dim: int, dtype: torch.dtype, **out: Tensor) -> Tensor:
        return _into(op(grad, y, dim, y.dtype).to(dtype), **out)

    return run


def _into(result: Tensor, **out: Tensor) -> Tensor:
    """The result, where a tensor is given for it in that."""
    for given in out.values():
        return given.resize_(result.shape).copy_(result)
    return result


def _over(x: Tensor) -> tuple[list[int], list[int]]:
    """Dimensions other than the channels', and the shape of a value for each channel."""
    return [d for d in range(x.dim()) if d != 1], [1, -1] + [1] * (x.dim() - 2)


def batch_norm_stats(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """`batch_norm_stats`: mean and reciprocal of the deviation, of this rank."""
    dims, _ = _over(x)
    wide = x.float() if x.dtype in _HALVES else x
    mean = wide.mean(dims)
    return mean, (wide.var(dims, unbiased=False) + eps).rsqrt()


def batch_norm_elemt(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, _eps: float
) -> Tensor:
    """`batch_norm_elemt`: normalizes by given statistics."""
    _, shape = _over(x)
    y = (x - mean.view(shape)) * invstd.view(shape)
    y = y if weight is None else y * weight.view(shape)
    return (y if bias is None else y + bias.view(shape)).to(x.dtype)


def batch_norm_gather(
    _x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """`batch_norm_gather_stats_with_counts`: the statistics of all ranks."""
    share = counts.view(-1, 1).to(mean.dtype)
    total = share.sum()
    whole = (mean * share).sum(0) / total
    variance = invstd.pow(-2) - eps
    var = ((variance + (mean - whole).pow(2)) * share).sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(momentum * whole.to(running_mean.dtype))
    if running_var is not None:
        unbiased = var * total / (total - 1)
        running_var.mul_(1 - momentum).add_(momentum * unbiased.to(running_var.dtype))
    return whole, (var + eps).rsqrt()


def batch_norm_reduce(
    grad: Tensor,
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor | None, ...]:
    """`batch_norm_backward_reduce`: sums for the gradients, of this rank."""
    dims, shape = _over(x)
    total = grad.sum(dims)
    product = (grad * (x - mean.view(shape))).sum(dims)
    dtype = None if weight is None else weight.dtype
    return (
        total if input_g else None,
        product if input_g else None,
        (product * invstd).to(dtype) if weight_g else None,
        total.to(dtype) if bias_g else None,
    )


def batch_norm_backward_elemt(
    grad: Tensor,
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """`batch_norm_backward_elemt`: the gradient of the input."""
    _, shape = _over(x)
    n = count.sum()
    scale = invstd if weight is None else invstd * weight
    slope = (invstd.pow(2) * sum_dy_xmu / n).view(shape)
    out = (grad - (sum_dy / n).view(shape) - (x - mean.view(shape)) * slope) * scale.view(shape)
    return out.to(x.dtype)


KERNELS: dict[str, Any] = {
    f"aten::{name}": function
    for name, function in {
        "_thnn_fused_lstm_cell": lstm_cell,
        "_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
        "_thnn_fused_gru_cell": gru_cell,
        "_thnn_fused_gru_cell_backward": gru_cell_backward,
        "_fused_rms_norm": rms_norm,
        "_fused_rms_norm_backward": rms_norm_backward,
        "histc": histc,
        **{name: softmax(name) for name in ("_softmax", "_log_softmax")},
        **{
            name: softmax_backward(name)
            for name in ("_softmax_backward_data", "_log_softmax_backward_data")
        },
        "_linalg_svd": svd,
        "_conv_depthwise2d": depthwise,
        "conv_depthwise3d": depthwise,
        "batch_norm_stats": batch_norm_stats,
        "batch_norm_elemt": batch_norm_elemt,
        "batch_norm_gather_stats_with_counts": batch_norm_gather,
        "batch_norm_backward_reduce": batch_norm_reduce,
        "batch_norm_backward_elemt": batch_norm_backward_elemt,
        # The math form of attention, whose composite code syncs as little as the fused kernels.
        "_efficient_attention_forward": attention.forward,
        "_efficient_attention_backward": attention.backward,
        "_fused_sdp_choice": lambda *_args, **_options: 0,
        "_use_cudnn_ctc_loss": lambda *_args, **_options: False,
        "_use_miopen_ctc_loss": lambda *_args, **_options: False,
    }.items()
}
