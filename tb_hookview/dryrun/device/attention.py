"""What the CPU has no kernel for: attention over several lengths, quantized tensors.

Jagged tensors choose among kernels of CUDA; the form that they have on a CPU, of torch's own
operators, reads every length. Sizes here are (1, tokens, heads, features).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812

Tensor = torch.Tensor
_FROM_BOTTOM_RIGHT = 2
"""Of the kinds of causal masks: the last query sees all keys. 1 is from the top left."""


class _Sequence(NamedTuple):
    """The tokens of one sequence: heads, tokens, features."""

    query: Tensor
    key: Tensor
    value: Tensor
    scale: float
    mask: int

    def weights(self) -> Tensor:
        """Shares of the keys in each query."""
        scores = self.query @ self.key.transpose(1, 2) * self.scale
        if self.mask:
            queries, keys = scores.shape[1:]
            later = keys - queries if self.mask == _FROM_BOTTOM_RIGHT else 0
            hidden = torch.ones(queries, keys, dtype=torch.bool).triu(later + 1)
            scores = scores.masked_fill(hidden, -math.inf)
        return scores.softmax(2)


def forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _bias: Tensor | None,
    starts_q: Tensor,
    starts_k: Tensor,
    longest_q: int,
    longest_k: int,
    dropout: float,
    mask: int,
    _with_log_sumexp: bool = False,
    *,
    scale: float | None = None,
    **_options: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int]:
    """`_efficient_attention_forward`: the state of random numbers stands in place of a seed."""
    state = torch.get_rng_state()
    out = query.new_empty(*query.shape[:3], value.size(3))
    for rows, one in _sequences(query, key, value, (starts_q, starts_k), scale, mask):
        out[0, rows[0]] = (F.dropout(one.weights(), dropout) @ one.value).transpose(0, 1)
    unused = query.new_empty(0, dtype=torch.float32)
    return out, unused, state, torch.zeros((), dtype=torch.int64), longest_q, longest_k


def backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _bias: Tensor | None,
    _out: Tensor,
    starts_q: Tensor,
    starts_k: Tensor,
    _longest_q: int,
    _longest_k: int,
    _log_sumexp: Tensor,
    dropout: float,
    state: Tensor,
    _offset: Tensor,
    mask: int,
    *_more: Any,
    scale: float | None = None,
    **_options: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`_efficient_attention_backward`."""
    of_query, of_key, of_value = (torch.empty_like(each) for each in (query, key, value))
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(state)
        for rows, one in _sequences(query, key, value, (starts_q, starts_k), scale, mask):
            weights, g = one.weights(), grad[0, rows[0]].transpose(0, 1)
            kept = F.dropout(torch.ones_like(weights), dropout)
            of_value[0, rows[1]] = ((weights * kept).transpose(1, 2) @ g).transpose(0, 1)
            slope = g @ one.value.transpose(1, 2) * kept
            slope = weights * (slope - (slope * weights).sum(2, keepdim=True)) * one.scale
            of_query[0, rows[0]] = (slope @ one.key).transpose(0, 1)
            of_key[0, rows[1]] = (slope.transpose(1, 2) @ one.query).transpose(0, 1)
    return of_query, of_key, of_value, query.new_empty(0)


def _sequences(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    starts: tuple[Tensor, Tensor],
    scale: float | None,
    mask: int,
) -> Iterator[tuple[tuple[slice, slice], _Sequence]]:
    """Where each sequence lies, in queries and in keys, and its tokens."""
    scale = 1 / math.sqrt(query.size(3)) if scale is None else scale
    at_q, at_k = starts[0].tolist(), starts[1].tolist()
    for first_q, last_q, first_k, last_k in zip(at_q, at_q[1:], at_k, at_k[1:], strict=False):
        rows = slice(first_q, last_q), slice(first_k, last_k)
        q = query[0, rows[0]].transpose(0, 1)
        k, v = (each[0, rows[1]].transpose(0, 1) for each in (key, value))
        yield rows, _Sequence(q, k, v, scale, mask)


# Quantized tensors of the device, which DLPack has no name for.
#
# Torch makes them by the allocator that the hooks of CUDA give it (`allocators.DeviceAllocator`).


_C: Any = torch._C
QUANTIZED_CPU_KEYS = _C.DispatchKeySet(_C.DispatchKey.QuantizedCPU)
_aten = torch.ops.aten
_PER_TENSOR = (0, 2, torch.per_tensor_affine, torch.per_tensor_symmetric)
"""Of c10::QScheme, as the dispatcher and as Python has them."""


def empty(
    like: torch.Tensor, device: torch.device, move: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Return a quantized tensor of the same size and quantizer.

    Args:
        like: the tensor, of this device or another.
        device: where it will be.
        move: returns a tensor where `like` is as one of the device.
    """
    options = {"dtype": like.dtype, "device": device}
    if _read(like, "qscheme") in _PER_TENSOR:
        made: torch.Tensor = _aten._empty_affine_quantized.default.redispatch(
            QUANTIZED_CPU_KEYS,
            like.size(),
            scale=_read(like, "q_scale"),
            zero_point=_read(like, "q_zero_point"),
            **options,
        )
        return made
    by_channel: torch.Tensor = _aten._empty_per_channel_affine_quantized.default.redispatch(
        QUANTIZED_CPU_KEYS,
        like.size(),
        scales=move(_read(like, "q_per_channel_scales")),
        zero_points=move(_read(like, "q_per_channel_zero_points")),
        axis=_read(like, "q_per_channel_axis"),
        **options,
    )
    return by_channel


def _read(tensor: torch.Tensor, name: str) -> Any:
    return getattr(_aten, name).default.redispatch(QUANTIZED_CPU_KEYS, tensor)


def integers(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a quantized tensor, in the same memory."""
    storage = tensor.untyped_storage()
    return _aten.empty([0], dtype=torch.uint8, device=storage.device).set_(storage)  # type: ignore[no-any-return]
