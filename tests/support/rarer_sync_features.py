"""Features of torch that fewer programs call, or that sync where one would not expect it."""

# ruff: noqa: ARG005  # a table of calls, one a line where it fits
from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812
from support.sync_feature import (
    COALESCED,
    COPY,
    COUNTED,
    ERRORS,
    INDEX,
    INSIDE,
    NONE,
    OPTIMIZER,
    READ,
    Feature,
    Tensors,
    backward,
    of,
    put,
    scaled,
    update,
)  # fmt: skip
from torch import distributions, nn
from torch.nn.utils import rnn

INDEXING = {
    "mask and slice": of(lambda t: t.x[t.mask, :2], 1, COUNTED),
    "mask and list": of(lambda t: t.x[t.mask, [0, 1, 2, 3]], 2, f"{COUNTED}; {INDEX}"),
    "mask of two dimensions": of(lambda t: t.x[t.x > 0], 1, COUNTED),
    "list of bools": of(
        lambda t: t.x[[True, False, True, True, False, True]], 2, f"made on the device; {COUNTED}"
    ),
    "mask assigned a read value": of(
        put(lambda t: t.x > 0, lambda t: t.scalar.item()), 1, "item(); then masked_fill_"
    ),
    "row assigned a number": of(put(lambda t: 0, lambda t: 1.0), 0, "fill_"),
    "pairs of indices assigned": of(put(lambda t: (t.i, t.i), lambda t: t.v[:3]), 0, NONE),
    "mask put, accumulated": of(
        lambda t: t.v.index_put((t.mask,), t.v[:4], accumulate=True), 1, COUNTED
    ),
    "take": of(lambda t: t.x.take(t.i), 0, NONE),
    "narrow from a tensor": of(lambda t: torch.narrow(t.x, 0, t.integer, 2), 1, READ),
    "row by a tensor assigned": of(put(lambda t: t.integer, lambda t: t.v[:5]), 1, READ),
    "select_scatter": of(lambda t: t.x.select_scatter(t.v[:5], 0, 1), 0, NONE),
    "masked mean": of(lambda t: (t.v * t.mask).sum() / t.mask.sum().clamp(min=1), 0, NONE),
    "nanmedian": of(lambda t: t.x.nanmedian(), 0, "Sorting.cpp indexes by a tensor"),
    "permuted rows": of(lambda t: t.x[torch.randperm(6, device="cuda")], 0, NONE),
    "rows permuted by the host": of(lambda t: t.x[torch.randperm(6)], 1, INDEX),
    "combinations": of(
        lambda t: torch.combinations(t.v), 2, "masked_select of each column", until=(2, 14)
    ),
    "index_reduce": of(lambda t: t.v.index_reduce(0, t.labels, t.v, "mean"), 0, NONE),
    "expand by tensors": of(lambda t: t.v[:1].expand(t.integer, t.integer), 2, READ),
    "view by a tensor": of(lambda t: t.v[:4].view(t.integer, -1), 1, READ),
    "zeros of a tensor": of(lambda t: torch.zeros(t.integer, device="cuda"), 1, READ),
    "split by a tensor": of(lambda t: t.x.split(t.integer), 1, READ),
    "unique rows": of(
        lambda t: torch.unique(t.x, dim=0), 1, "Unique.cu: Thrust counts the rows, in several waits"
    ),
    "bincount with weights": of(
        lambda t: torch.bincount(t.labels, weights=t.v), 2, "SummaryOps.cu: min, max"
    ),
    "histc of integers": of(lambda t: torch.histc(t.labels), 2, "min and max of the data"),
    "masked_select backward": of(
        lambda t: t.leaf().masked_select(t.x > 0).sum().backward(),
        *(1, "the forward alone: masked_scatter_ knows the size"),
    ),
}
PYTHON = {
    "if any": of(lambda t: 1 if t.mask.any() else 0, 1, READ),
    "max of a list": of(lambda t: max([t.scalar, t.scalar + 1, t.scalar + 2]), 2, "compares twice"),
    "sorted list": of(lambda t: sorted([t.scalar, t.scalar + 1]), 1, "compares once"),
    "sum of a list": of(lambda t: sum([t.scalar, t.scalar]), 0, NONE),
    "math.sqrt": of(lambda t: math.sqrt(t.scalar), 1, "__float__ reads"),
    "iteration": of(lambda t: list(t.v), 0, "unbind"),
    "iteration with float()": of(lambda t: [float(each) for each in t.v], 6, READ),
    "hash": of(lambda t: {t.scalar: 1}, 0, "by identity"),
    "assert_close": of(lambda t: torch.testing.assert_close(t.x, t.x.clone()), 1, "if not all()"),
    "tolist of a scalar": of(lambda t: t.scalar.tolist(), 1, READ),
    "hook that reads": of(lambda t: _hook(t), 1, READ),
    "cond": of(
        lambda t: torch.cond(t.scalar > 1, torch.sin, torch.cos, (t.x,)), 1, "eager: if pred"
    ),
    "clamp by a read value": of(lambda t: t.x.clamp(min=t.scalar.item()), 1, READ),
    "clamp by a tensor": of(lambda t: t.x.clamp(min=t.scalar), 0, NONE),
    "addcmul by a tensor": of(lambda t: t.x.addcmul(t.x, t.x, value=t.scalar), 1, READ),
    "full_like of a tensor": of(lambda t: torch.full_like(t.x, t.scalar), 1, READ),
    "linspace between tensors": of(
        lambda t: torch.linspace(t.scalar, t.scalar + 1, 3, device="cuda"), 2, READ
    ),
    "timed events": of(lambda t: _timed(), 1, "synchronize(); elapsed_time alone does not wait"),
    "empty_cache": of(lambda t: torch.cuda.empty_cache(), 1, "cudaFree"),
    "mem_get_info": of(lambda t: torch.cuda.mem_get_info(), 0, NONE),
    "type of a host tensor": of(lambda t: t.host.type("torch.cuda.FloatTensor"), 1, COPY),
    "type_as": of(lambda t: t.host.type_as(t.x), 1, COPY),
    "pinned and transposed": of(
        lambda t: t.pinned.T.to("cuda", non_blocking=True), 0, "dense: one cudaMemcpyAsync"
    ),
}


def _hook(t: Tensors) -> None:
    x = t.leaf()
    x.register_hook(lambda grad: grad.norm().item() and None)
    x.sum().backward()


def _timed() -> float:
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    last.record()
    last.synchronize()
    return first.elapsed_time(last)


ALGEBRA = {
    "cholesky_inverse": of(
        lambda t: torch.cholesky_inverse(t.positive), 0, "BatchLinearAlgebra.cpp: infos of the host"
    ),
    "cholesky_solve": of(lambda t: torch.cholesky_solve(t.square, t.positive), 0, "not checked"),
    "inv_ex with errors": of(lambda t: torch.linalg.inv_ex(t.square, check_errors=True), 1, ERRORS),
    "cholesky_ex with errors": of(
        lambda t: torch.linalg.cholesky_ex(t.positive, check_errors=True), 1, ERRORS
    ),
    "solve_ex": of(lambda t: torch.linalg.solve_ex(t.square, t.v[:4]), 0, "not checked"),
    "eig": of(
        lambda t: torch.linalg.eig(t.square),
        *(3, f"isfinite().all(); {ERRORS}; whether all are real; {INSIDE}"),
    ),
    "eig of a complex matrix": of(
        lambda t: torch.linalg.eig(t.square + 0j), 2, f"isfinite().all(); {ERRORS}; {INSIDE}"
    ),
    "eigvals": of(
        lambda t: torch.linalg.eigvals(t.square), 2, f"{ERRORS}; whether all are real; {INSIDE}"
    ),
    "eigvalsh": of(lambda t: torch.linalg.eigvalsh(t.positive), 1, f"{ERRORS}; {INSIDE}"),
    "svdvals": of(lambda t: torch.linalg.svdvals(t.square), 2, "errors, and gesvdj's convergence"),
    "nuclear norm": of(lambda t: torch.linalg.norm(t.square, "nuc"), 2, "svdvals"),
    "pinv, hermitian": of(
        lambda t: torch.linalg.pinv(t.positive, hermitian=True), 1, f"eigh; {INSIDE}"
    ),
    "lu": of(lambda t: torch.linalg.lu(t.square), 0, "not checked"),
    "matrix_exp": of(
        lambda t: torch.matrix_exp(t.square),
        *(2, "LinearAlgebra.cpp: norms to the host, indices; up to four more by the norm"),
    ),
    "det backward": of(
        lambda t: torch.linalg.det(t.positive.requires_grad_()).backward(), 0, "not checked"
    ),
    "inv backward": of(
        lambda t: torch.linalg.inv(t.positive.requires_grad_()).sum().backward(), 1, ERRORS
    ),
    "covariance": of(
        lambda t: torch.cov(t.x), 1, "Correlation.cpp compares the divisor with 0: equal"
    ),
    "correlation": of(lambda t: torch.corrcoef(t.x), 1, "cov"),
    "quantile by a tensor": of(
        lambda t: torch.quantile(t.v, t.scalar / 4), 0, "its range is checked on the host only"
    ),
    "multinomial with replacement": of(
        lambda t: torch.multinomial(t.v.abs(), 9, replacement=True), 0, "asynchronous asserts"
    ),
    "poisson": of(lambda t: torch.poisson(t.v.abs()), 0, NONE),
    "rsample without checks": of(
        lambda t: distributions.Normal(t.v, t.v.exp(), validate_args=False).rsample(), 0, NONE
    ),
    "Categorical": of(
        lambda t: distributions.Categorical(logits=t.x).sample(), 1, "the argument: if not all()"
    ),
    "Categorical, log_prob": of(
        lambda t: distributions.Categorical(logits=t.x).log_prob(t.labels), 2, "and the value"
    ),
    "MultivariateNormal": of(
        lambda t: distributions.MultivariateNormal(torch.zeros(4, device="cuda"), t.positive),
        *(5, "location; matrix: symmetric, positive, and then both; cholesky's errors"),
    ),
}
LAYOUTS = {
    "sparse @ dense": of(lambda t: torch.sparse.mm(t.x.to_sparse(), t.x.T), 1, "to_sparse"),
    "compressed @ dense": of(lambda t: t.x.to_sparse_csr() @ t.x.T, 2, "to_sparse_csr"),
    "sparse sum of a dimension": of(
        lambda t: torch.sparse.sum(t.x.to_sparse(), 0), 2, f"to_sparse; {COALESCED}"
    ),
    "sparse tensor without a size": of(
        lambda t: torch.sparse_coo_tensor(torch.stack([t.i, t.i]), t.v[:3]),
        *(2, "SparseTensor.cpp: the largest and the smallest index"),
    ),
    "sparse tensor with a size": of(
        lambda t: torch.sparse_coo_tensor(torch.stack([t.i, t.i]), t.v[:3], (6, 6)), 0, NONE
    ),
    "nested, padded": of(
        lambda t: _nested(t).to_padded_tensor(0.0),
        *(1, "NestedTensorTransformerFunctions.cpp: sizes to the device"),
    ),
    "nested, softmax": of(lambda t: torch.softmax(_nested(t), -1), 0, "sizes are on the host"),
    "nested, unbind": of(lambda t: _nested(t).unbind(), 0, "sizes are on the host"),
    "nested attention": of(
        lambda t: F.scaled_dot_product_attention(*[_nested(t, 2, 4)] * 3),
        *(2, "NestedTensorTransformerUtils.cpp: lengths of queries and keys"),
    ),
    "jagged, unbind": of(
        lambda t: _jagged(t).unbind(), 2, "ops.py: offsets of a list; lengths to a list"
    ),
    "jagged attention": of(
        lambda t: _jagged_attention(t, 5),
        *(7, "offsets of a list; sdpa.py: five features fit no fused kernel, lengths are read"),
    ),
    "jagged attention, aligned": of(
        lambda t: _jagged_attention(t, 4),
        *(1, "offsets of a list; a fused kernel, the longest length is known"),
    ),
    "jagged, padded": of(
        lambda t: _jagged(t).to_padded_tensor(0.0), 1, "offsets of a list; the length is known"
    ),
    "quantizer that is learned": of(
        lambda t: torch._fake_quantize_learnable_per_tensor_affine(
            t.leaf(), t.scalar[None], torch.zeros(1, device="cuda"), 0, 255
        ).sum().backward(),
        *(4, "scale and zero point, forward and backward"),
    ),
}  # fmt: skip


def _nested(t: Tensors, *features: int) -> torch.Tensor:
    parts = [torch.ones(2, *(features or (5,)), device="cuda") for _ in range(2)]
    return torch.nested.as_nested_tensor(parts)


def _jagged(t: Tensors, features: int = 5) -> torch.Tensor:
    x = t.x[:, :features].contiguous()
    return torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged)


def _jagged_attention(t: Tensors, features: int) -> torch.Tensor:
    heads = _jagged(t, features).unflatten(-1, (1, features)).transpose(1, 2)
    return F.scaled_dot_product_attention(heads, heads, heads)


LAYERS = {
    "cross_entropy, weighted and smoothed": of(
        lambda t: F.cross_entropy(t.x, t.labels, weight=t.v[:5].exp(), label_smoothing=0.1),
        *(1, "LossNLL.cpp: masked_select of the targets for the sum of weights"),
    ),
    "cross_entropy, smoothed": of(
        lambda t: F.cross_entropy(t.x, t.labels, label_smoothing=0.1), 0, NONE
    ),
    "embedding, padding backward": of(
        backward(lambda t, x: F.embedding(t.labels, x, padding_idx=0)), 0, NONE
    ),
    "embedding, by frequency": of(
        backward(lambda t, x: F.embedding(t.labels, x, scale_grad_by_freq=True)), 0, NONE
    ),
    "embedding_bag, max": of(
        backward(lambda t, x: F.embedding_bag(t.labels, x, t.i[:1], mode="max")), 0, NONE
    ),
    "pack_padded_sequence": of(
        lambda t: rnn.pack_padded_sequence(t.image[0], torch.tensor([3, 2, 1]), batch_first=True),
        *(0, "lengths and batch sizes stay on the host"),
    ),
    "pack_padded_sequence, unsorted": of(
        lambda t: rnn.pack_padded_sequence(
            t.image[0], torch.tensor([1, 3, 2]), batch_first=True, enforce_sorted=False
        ),
        *(1, "the order goes to the device"),
    ),
    "pad_sequence": of(lambda t: rnn.pad_sequence([t.v, t.v[:2]]), 0, NONE),
    "packed LSTM": of(
        lambda t: nn.LSTM(8, 4, device="cuda")(
            rnn.pack_padded_sequence(t.image[0], torch.tensor([3, 2, 1]), batch_first=True)
        )[0].data.sum().backward(),
        *(0, "batch sizes are on the host"),
    ),
    "multi-head attention with padding": of(
        lambda t: nn.MultiheadAttention(8, 2, device="cuda", batch_first=True)(
            *[t.image[0]] * 3, key_padding_mask=t.image[0, :, :, 0] > 0
        ),
        *(0, NONE),
    ),
    "gumbel_softmax": of(lambda t: F.gumbel_softmax(t.x, hard=True), 0, NONE),
    "max_unpool": of(
        lambda t: F.max_unpool2d(*F.max_pool2d(t.image, 2, return_indices=True), 2),
        *(0, "device asserts"),
    ),
    "spectral norm": of(
        lambda t: nn.utils.parametrizations.spectral_norm(nn.Linear(5, 5, device="cuda"))(t.x),
        *(0, NONE),
    ),
}  # fmt: skip
UPDATES = {
    "SGD fused": of(update(torch.optim.SGD, fused=True), 0, OPTIMIZER),
    "ASGD": of(
        update(torch.optim.ASGD), 6, "asgd.py: of each parameter a step is read, eta made twice"
    ),
    "Adafactor": of(
        update(torch.optim.Adafactor), 4, "_adafactor.py: norms of a parameter are read, twice"
    ),
    "Adam, lr on the device": of(
        lambda t: update(torch.optim.Adam, lr=t.scalar, capturable=True)(t), 1, "adam.py: lr < 0"
    ),
    "Adam fused, lr on the host": of(
        update(torch.optim.Adam, lr=torch.tensor(0.1), fused=True), 0, "read on the host"
    ),
    "clip_grad_norm_ to the largest": of(
        lambda t: nn.utils.clip_grad_norm_([t.leaf()], 1.0, math.inf), 0, "stays on the device"
    ),
    "GradScaler, SGD fused": of(scaled(torch.optim.SGD, fused=True), 0, "it takes found_inf"),
    "ReduceLROnPlateau": of(
        lambda t: torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD([t.leaf()], 0.1)).step(
            t.scalar
        ),
        *(1, "float(metrics)"),
    ),
}
FEATURES: dict[str, Feature] = {
    **INDEXING, **PYTHON, **ALGEBRA, **LAYOUTS, **LAYERS, **UPDATES,
}  # fmt: skip
