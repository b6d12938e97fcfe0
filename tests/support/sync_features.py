"""Features of torch, each with the number of syncs that a CUDA device causes, and why.

Each is a function of tensors of the device; `why` is what in torch's CUDA code waits, or does not.
"""

# ruff: noqa: ARG005  # a table of calls, one a line where it fits
from __future__ import annotations

import copy
import io
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from support import rarer_sync_features, training_sync_features
from support.sync_feature import (
    COPY,
    COUNTED,
    ERRORS,
    INDEX,
    INSIDE,
    NONE,
    OPTIMIZER,
    READ,
    Tensors,
    assign,
    backward,
    of,
    put,
    scaled,
    update,
)  # fmt: skip
from torch import nn
from torch.utils.checkpoint import checkpoint

READS = {
    "item": of(lambda t: t.scalar.item(), 1, READ),
    "item of the host": of(lambda t: t.host_scalar.item(), 0, "the tensor is on the host"),
    "float()": of(lambda t: float(t.scalar), 1, READ),
    "int()": of(lambda t: int(t.integer), 1, READ),
    "bool()": of(lambda t: bool(t.scalar > 1), 1, READ),
    "if": of(lambda t: 1 if t.scalar > 1 else 2, 1, READ),
    "and": of(lambda t: t.scalar > 1 and t.scalar < 3, 1, READ),
    "not": of(lambda t: not t.scalar, 1, READ),
    "assert": of(lambda t: max(t.scalar, t.scalar + 1), 1, "max() compares: bool()"),
    "range": of(lambda t: list(range(t.integer)), 1, "__index__ reads"),
    "list index": of(lambda t: [1, 2, 3][t.integer], 1, "__index__ reads"),
    "tolist": of(lambda t: t.x.tolist(), 1, "one copy to the host"),
    "cpu": of(lambda t: t.x.cpu(), 1, COPY),
    "numpy": of(lambda t: t.x.cpu().numpy(), 1, COPY),
    "format": of(lambda t: f"{t.scalar:.2f}", 1, READ),
    "in": of(lambda t: t.scalar in t.v, 1, "any().item()"),
    "equal": of(lambda t: torch.equal(t.x, t.x + 1), 1, "Equal.cpp reads the result"),
    "equal of other sizes": of(lambda t: torch.equal(t.x, t.v), 0, "known without values"),
    "equal to itself": of(lambda t: torch.equal(t.x, t.x), 0, "the same memory"),
    "allclose": of(lambda t: torch.allclose(t.x, t.x), 1, "all().item()"),
    "isclose": of(lambda t: torch.isclose(t.x, t.x), 0, NONE),
    "is_nonzero": of(lambda t: torch.is_nonzero(t.scalar), 1, READ),
    "full of a value": of(lambda t: torch.full((2,), t.scalar.item(), device="cuda"), 1, READ),
    "arange to a tensor": of(lambda t: torch.arange(t.integer, device="cuda"), 1, READ),
    "slice to a tensor": of(lambda t: t.x[: t.integer], 1, "the bound is read"),
    "select by a tensor": of(lambda t: t.x[t.integer], 1, "a 0-dim index is read"),
    "alpha": of(lambda t: t.x.add(t.x, alpha=t.scalar), 1, "a number is expected: item()"),
    "add a 0-dim tensor": of(lambda t: t.x + t.scalar, 0, NONE),
    "add a 0-dim tensor of the host": of(lambda t: t.x + t.host_scalar, 0, "it is a number"),
    "pow a 0-dim tensor": of(lambda t: t.x.pow(t.scalar), 0, NONE),
    "masked_fill by a tensor": of(
        lambda t: t.v.masked_fill(t.mask, t.scalar), 1, "Indexing.cu: value.item()"
    ),
    "masked_fill by a number": of(lambda t: t.v.masked_fill(t.mask, 0.0), 0, NONE),
    "masked_fill by a host tensor": of(
        lambda t: t.v.masked_fill(t.mask, t.host_scalar), 0, "item() of a tensor of the host"
    ),
    "index_fill by a tensor": of(
        lambda t: t.x.index_fill(0, t.i, t.scalar), 1, "TensorAdvancedIndexing.cpp: item()"
    ),
    "index_fill by a number": of(lambda t: t.x.index_fill(0, t.i, 1.0), 0, NONE),
    "fill_ by a tensor": of(lambda t: t.x.clone().fill_(t.scalar), 0, "filled on the device"),
    "linspace to a tensor": of(
        lambda t: torch.linspace(0.0, t.scalar, 3, device="cuda"), 1, "RangeFactories: item()"
    ),
    "stack of scalars": of(lambda t: torch.stack([t.scalar, t.scalar]), 0, NONE),
    "tensor of tensors": of(
        lambda t: torch.tensor([t.scalar, t.scalar], device="cuda"), 3, "two reads, one copy back"
    ),
    "anomaly mode": of(
        lambda t: _anomaly(t), 1, "engine.cpp: isnan().any().item() of each gradient"
    ),
    "assert_async": of(lambda t: torch._assert_async(t.scalar), 0, "checked on the device"),
}


def _anomaly(t: Tensors) -> None:
    x = t.leaf()
    with torch.autograd.detect_anomaly(check_nan=True):
        x.sum().backward()


COPIES = {
    "to": of(lambda t: t.host.to("cuda"), 1, COPY),
    "cuda()": of(lambda t: t.host.cuda(), 1, COPY),
    "to of a pinned tensor": of(lambda t: t.pinned.to("cuda"), 1, "it blocks all the same"),
    "to, pinned, non_blocking": of(
        lambda t: t.pinned.to("cuda", non_blocking=True), 0, "cudaMemcpyAsync from pinned memory"
    ),
    "to, pageable, non_blocking": of(
        lambda t: t.host.to("cuda", non_blocking=True), 0, "the driver stages the copy", 1
    ),
    "to, pinned, converting": of(
        lambda t: t.pinned.to("cuda", torch.float16, non_blocking=True),
        *(0, "Copy.cu converts on the host, into pageable memory"),
        1,
    ),
    "to, pinned slice": of(
        lambda t: t.pinned[:, :2].to("cuda", non_blocking=True),
        *(0, "Copy.cu makes a contiguous copy on the host, in pageable memory"),
        1,
    ),
    "to of an empty tensor": of(lambda t: t.host[:0].to("cuda"), 0, "nothing is copied"),
    "to where it is": of(lambda t: t.x.to("cuda"), 0, "returns itself"),
    "to another type": of(lambda t: t.x.to(torch.float16), 0, NONE),
    "to the host, non_blocking": of(
        lambda t: t.x.to("cpu", non_blocking=True), 0, "into pinned memory that it allocates"
    ),
    "copy_ from the host": of(lambda t: t.x.clone().copy_(t.host), 1, COPY),
    "copy_ from pinned": of(
        lambda t: t.x.clone().copy_(t.pinned, non_blocking=True), 0, "cudaMemcpyAsync"
    ),
    "copy_ to the host": of(lambda t: t.host.clone().copy_(t.x), 1, COPY),
    "copy_ to pageable, non_blocking": of(
        lambda t: t.host.clone().copy_(t.x, non_blocking=True), 1, "into pageable memory it blocks"
    ),
    "copy_ to pinned, non_blocking": of(
        lambda t: torch.empty(6, 5).pin_memory().copy_(t.x, non_blocking=True), 0, "asynchronous"
    ),
    "copy_ on the device": of(lambda t: t.x.clone().copy_(t.x), 0, NONE),
    "tensor of a list": of(lambda t: torch.tensor([1.0, 2.0], device="cuda"), 1, COPY),
    "tensor of a number": of(lambda t: torch.tensor(1.0, device="cuda"), 1, COPY),
    "as_tensor": of(lambda t: torch.as_tensor([1, 2], device="cuda"), 1, COPY),
    "new_tensor": of(lambda t: t.x.new_tensor([1.0]), 1, COPY),
    "full": of(lambda t: torch.full((), 1.0, device="cuda"), 0, NONE),
    "zeros": of(lambda t: torch.zeros(3, device="cuda"), 0, NONE),
    "arange": of(lambda t: torch.arange(3, device="cuda"), 0, NONE),
    "eye": of(lambda t: torch.eye(3, device="cuda"), 0, NONE),
    "randn": of(lambda t: torch.randn(3, device="cuda"), 0, NONE),
    "module to the device": of(lambda t: nn.Linear(2, 2).to("cuda"), 2, "each parameter"),
    "load_state_dict": of(
        lambda t: nn.Linear(2, 2, device="cuda").load_state_dict(nn.Linear(2, 2).state_dict()),
        *(2, "each parameter is copied"),
    ),
    "deepcopy": of(lambda t: copy.deepcopy(t.x), 0, "storages are cloned on the device"),
    "save": of(lambda t: torch.save(t.x, io.BytesIO()), 1, "the storage goes to the host"),
    "pin_memory": of(lambda t: t.host.pin_memory(), 0, "a copy on the host"),
    "foreach copy": of(
        lambda t: torch._foreach_copy_([t.x.clone()], [t.host]), 1, "each pair as copy_"
    ),
    "synchronize": of(lambda t: torch.cuda.synchronize(), 1, "the program waits"),
    "stream synchronize": of(lambda t: torch.cuda.current_stream().synchronize(), 1, "it waits"),
    "event synchronize": of(
        lambda t: torch.cuda.Event().synchronize(),
        0,
        "never recorded: there is nothing to wait for",
    ),
    "event query": of(lambda t: torch.cuda.Event().query(), 0, "asks without waiting"),
    "wait_stream": of(
        lambda t: torch.cuda.Stream().wait_stream(torch.cuda.current_stream()), 0, "on the device"
    ),
    "memory_allocated": of(lambda t: torch.cuda.memory_allocated(), 0, "kept on the host"),
    "rng state": of(lambda t: torch.cuda.get_rng_state(), 0, "kept on the host"),
}
SIZES = {
    "nonzero": of(lambda t: t.mask.nonzero(), 1, COUNTED),
    "nonzero of nothing": of(lambda t: (t.v > 99).nonzero(), 1, COUNTED),
    "nonzero_static": of(lambda t: torch.nonzero_static(t.mask, size=3), 0, "the size is given"),
    "argwhere": of(lambda t: torch.argwhere(t.mask), 1, COUNTED),
    "where of a condition": of(lambda t: torch.where(t.mask), 1, COUNTED),
    "where": of(lambda t: torch.where(t.mask, t.v, 0.0), 0, NONE),
    "where with a host scalar": of(
        lambda t: torch.where(t.mask, t.v, t.host_scalar), 1, "TensorCompare.cpp: to the device"
    ),
    "count_nonzero": of(lambda t: torch.count_nonzero(t.x), 0, NONE),
    "mask index": of(lambda t: t.x[t.mask], 1, COUNTED),
    "mask index of two": of(lambda t: t.x[t.mask][t.mask[:4]], 2, "each mask is counted"),
    "mask of the host": of(
        lambda t: t.x[t.mask.cpu()], 1, "the copy; IndexingUtils.h pins the indices"
    ),
    "mask index backward": of(backward(lambda t, x: x[t.mask]), 2, "forward, and IndexBackward0"),
    "masked_select": of(lambda t: t.v.masked_select(t.mask), 1, COUNTED),
    "masked_scatter": of(lambda t: t.v.masked_scatter(t.mask, t.v), 0, NONE),
    "masked_scatter backward": of(
        backward(lambda t, x: x[:, 0].masked_scatter(t.mask, x[:, 1])),
        *(1, "the gradient of the source is a masked_select"),
    ),
    "mask assigned a number": of(put(lambda t: t.mask, lambda t: 0.0), 0, "masked_fill_"),
    "mask assigned a tensor": of(put(lambda t: t.mask, lambda t: t.x[0]), 1, COUNTED),
    "mask assigned a 0-dim tensor": of(
        put(lambda t: t.mask, lambda t: t.scalar), 1, "not a number of the host: counted"
    ),
    "unique": of(lambda t: torch.unique(t.labels), 1, "UniqueCub.cu reads the length"),
    "unique with counts": of(
        lambda t: torch.unique(t.labels, return_inverse=True, return_counts=True), 1, "one length"
    ),
    "unique_consecutive": of(lambda t: torch.unique_consecutive(t.labels), 1, "the length"),
    "bincount": of(lambda t: torch.bincount(t.labels), 2, "SummaryOps.cu: min, max"),
    "bincount of bytes": of(
        lambda t: torch.bincount(t.labels.to(torch.uint8)), 1, "max: no byte is negative"
    ),
    "bincount with minlength": of(
        lambda t: torch.bincount(t.labels, minlength=9), 2, "min and max all the same"
    ),
    "histc": of(lambda t: torch.histc(t.x), 2, "min and max of the data"),
    "histc with a range": of(lambda t: torch.histc(t.x, min=0, max=1), 0, "the range is given"),
    "one_hot": of(lambda t: F.one_hot(t.labels), 1, "Onehot.cpp: the largest value"),
    "one_hot with classes": of(lambda t: F.one_hot(t.labels, 5), 0, "not checked on CUDA"),
    "repeat_interleave by a tensor": of(
        lambda t: t.x.repeat_interleave(t.counts, 0), 2, "Repeat.h: sum, and a check of signs"
    ),
    "repeat_interleave with the size": of(
        lambda t: t.x.repeat_interleave(t.counts, 0, output_size=6), 0, "the size is given"
    ),
    "repeat_interleave by a number": of(lambda t: t.x.repeat_interleave(2, 0), 0, NONE),
    "isin": of(lambda t: torch.isin(t.labels, t.i), 0, "few test elements: compared"),
    "isin of many": of(
        lambda t: torch.isin(t.labels, torch.arange(40, device="cuda")),
        *(3, "unique, twice; TensorIndexing.h copies a number of the host"),
    ),
    "mode": of(lambda t: t.x.mode(), 0, "short slices: one kernel"),
    "mode of a long slice": of(
        lambda t: torch.zeros(2049, device="cuda").mode(), 1, f"TensorModeKernel.cu; {INSIDE}"
    ),
    "median": of(lambda t: t.x.median(), 0, NONE),
    "sort": of(lambda t: t.x.sort(), 0, NONE),
    "topk": of(lambda t: t.x.topk(2), 0, NONE),
    "cumsum": of(lambda t: t.x.cumsum(0), 0, NONE),
    "tensor_split by a list": of(lambda t: t.x.tensor_split([2, 4]), 0, "host numbers"),
    "sparse coalesce": of(lambda t: t.x.to_sparse().coalesce(), 1, "nonzero; it is coalesced"),
    "segment_reduce": of(
        lambda t: torch.segment_reduce(t.v, "sum", lengths=t.counts), 2, "lengths are checked"
    ),
    "segment_reduce unsafe": of(
        lambda t: torch.segment_reduce(t.v, "sum", lengths=t.counts, unsafe=True), 0, "unchecked"
    ),
    "searchsorted": of(lambda t: torch.searchsorted(t.v.sort()[0], t.scalar), 0, NONE),
    "searchsorted with a sorter": of(
        lambda t: torch.searchsorted(t.v, t.v, sorter=t.v.argsort()), 2, "its range is checked"
    ),
    "bucketize": of(lambda t: torch.bucketize(t.x, t.v.sort()[0]), 0, NONE),
}
INDICES = {
    "index": of(lambda t: t.x[t.i], 0, NONE),
    "index of the host": of(lambda t: t.x[t.host_i], 1, INDEX),
    "index list": of(lambda t: t.x[[0, 2]], 1, INDEX),
    "index by two host indices": of(lambda t: t.x[t.host_i, t.host_i], 2, INDEX),
    "index of the host backward": of(
        backward(lambda t, x: x[t.host_i]), 2, "forward, and IndexBackward0"
    ),
    "slice": of(lambda t: t.x[1:3, ::2], 0, "sizes of the host"),
    "gather": of(lambda t: t.x.gather(1, t.labels[:, None]), 0, NONE),
    "gather backward": of(backward(lambda t, x: x.gather(1, t.labels[:, None])), 0, NONE),
    "gather backward, deterministic": of(
        lambda t: _deterministic(t),
        0,
        "TensorAdvancedIndexing.cpp: index_put_ by indices made there",
    ),
    "index_select": of(lambda t: t.x.index_select(0, t.i), 0, NONE),
    "take_along_dim": of(lambda t: t.x.take_along_dim(t.labels[:, None], 1), 0, NONE),
    "scatter_add": of(lambda t: t.v.scatter_add(0, t.labels, t.v), 0, NONE),
    "index_add": of(lambda t: t.x.index_add(0, t.i, t.x[:3]), 0, NONE),
    "index_copy": of(lambda t: t.x.index_copy(0, t.i, t.x[:3]), 0, NONE),
    "scatter_reduce": of(lambda t: t.v.scatter_reduce(0, t.labels, t.v, "amax"), 0, NONE),
    "slice assigned a number": of(put(lambda t: slice(1, 3), lambda t: 5.0), 0, "fill_"),
    "indices assigned a tensor": of(put(lambda t: t.i, lambda t: t.x[:3]), 0, NONE),
    "host indices assigned": of(put(lambda t: t.host_i, lambda t: t.x[:3]), 1, INDEX),
    "index_put accumulate": of(
        assign(lambda t, x: x.index_put_((t.i,), t.x[:3], accumulate=True)), 0, NONE
    ),
    "embedding": of(lambda t: F.embedding(t.ids, t.x), 0, NONE),
    "embedding backward": of(backward(lambda t, x: F.embedding(t.ids, x)), 0, NONE),
    "embedding max_norm": of(lambda t: F.embedding(t.ids, t.x.clone(), max_norm=1.0), 0, NONE),
    "embedding_bag": of(lambda t: F.embedding_bag(t.ids, t.x), 0, NONE),
    "meshgrid": of(lambda t: torch.meshgrid(t.v, t.v, indexing="ij"), 0, NONE),
    "tril": of(lambda t: t.x.tril(), 0, NONE),
    "roll": of(lambda t: t.x.roll(1, 0), 0, NONE),
    "flip": of(lambda t: t.x.flip(0), 0, NONE),
    "cat": of(lambda t: torch.cat([t.x, t.x]), 0, NONE),
    "split": of(lambda t: t.x.split(2), 0, NONE),
    "unfold": of(lambda t: t.x.unfold(0, 2, 1), 0, NONE),
}


def _deterministic(t: Tensors) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        t.leaf().gather(1, t.labels[:, None]).sum().backward()
    finally:
        torch.use_deterministic_algorithms(False)


ALGEBRA = {
    "matmul": of(lambda t: t.x @ t.x.T, 0, NONE),
    "einsum": of(lambda t: torch.einsum("ij,kj->ik", t.x, t.x), 0, NONE),
    "inv": of(lambda t: torch.linalg.inv(t.square), 1, ERRORS),
    "inv_ex": of(lambda t: torch.linalg.inv_ex(t.square), 0, "errors are not checked"),
    "solve": of(lambda t: torch.linalg.solve(t.square, t.square), 1, ERRORS),
    "cholesky": of(lambda t: torch.linalg.cholesky(t.positive), 1, ERRORS),
    "cholesky_ex": of(lambda t: torch.linalg.cholesky_ex(t.positive), 0, "not checked"),
    "eigh": of(lambda t: torch.linalg.eigh(t.positive), 1, f"{ERRORS}; {INSIDE}"),
    "svd": of(lambda t: torch.linalg.svd(t.square), 2, "errors, and gesvdj's convergence"),
    "svd with a driver": of(lambda t: _svd(t), 1, f"{ERRORS}; {INSIDE}"),
    "lu_factor": of(lambda t: torch.linalg.lu_factor(t.square), 1, ERRORS),
    "qr": of(lambda t: torch.linalg.qr(t.square), 0, "no error can occur"),
    "det": of(lambda t: torch.linalg.det(t.square), 0, "not checked"),
    "slogdet": of(lambda t: torch.linalg.slogdet(t.square), 0, "not checked"),
    "solve_triangular": of(
        lambda t: torch.linalg.solve_triangular(t.square, t.square, upper=True), 0, NONE
    ),
    "lstsq": of(lambda t: torch.linalg.lstsq(t.square, t.square), 1, ERRORS),
    "matrix_power": of(lambda t: torch.linalg.matrix_power(t.square, 3), 0, NONE),
    "matrix_norm": of(lambda t: torch.linalg.matrix_norm(t.square), 0, NONE),
    "vector_norm": of(lambda t: torch.linalg.vector_norm(t.x), 0, NONE),
    "normal of a tensor": of(
        lambda t: torch.normal(0.0, t.v.abs()), 2, "checked by the call and by the form with out="
    ),
    "multinomial": of(lambda t: torch.multinomial(t.v.abs(), 2), 0, "asynchronous asserts"),
    "bernoulli": of(lambda t: torch.bernoulli(t.v.sigmoid()), 0, NONE),
    "dropout": of(lambda t: F.dropout(t.x), 0, NONE),
    "randperm": of(lambda t: torch.randperm(9, device="cuda"), 0, NONE),
    "distribution with checks": of(
        lambda t: torch.distributions.Normal(t.v, t.v.exp()), 2, "each argument: if not all()"
    ),
    "distribution without": of(
        lambda t: torch.distributions.Normal(t.v, t.v.exp(), validate_args=False), 0, NONE
    ),
    "quantile": of(lambda t: t.v.quantile(0.5), 0, NONE),
    "fft": of(lambda t: torch.fft.rfft(t.x), 0, NONE),
    "cdist": of(lambda t: torch.cdist(t.x, t.x), 0, NONE),
    "prod backward": of(backward(lambda t, x: x.prod()), 1, "FunctionsManual.cpp: nonzero"),
    "cumprod backward": of(
        backward(lambda t, x: x.cumprod(0)), 1, "FunctionsManual.cpp: whether any is 0"
    ),
    "max backward": of(backward(lambda t, x: x.max(0)[0]), 0, NONE),
    "sort backward": of(backward(lambda t, x: x.sort(0)[0]), 0, NONE),
}


def _svd(t: Tensors) -> object:
    return torch.ops.aten._linalg_svd(t.square, False, True, driver="gesvd")


LAYERS = {
    "linear": of(backward(lambda t, x: nn.Linear(5, 2, device="cuda")(x)), 0, NONE),
    "convolution": of(lambda t: nn.Conv2d(3, 4, 3, device="cuda")(t.image), 0, NONE),
    "depthwise convolution": of(
        lambda t: nn.Conv2d(3, 3, 3, groups=3, device="cuda")(t.image), 0, NONE
    ),
    "batch norm": of(lambda t: nn.BatchNorm2d(3, device="cuda")(t.image), 1, "its counter is made"),
    "batch norm, cumulative": of(
        lambda t: nn.BatchNorm2d(3, momentum=None, device="cuda")(t.image),
        2,
        "its counter is made; float(count)",
    ),
    "layer norm": of(lambda t: F.layer_norm(t.x, (5,)), 0, NONE),
    "rms norm": of(lambda t: F.rms_norm(t.x, (5,)), 0, NONE),
    "group norm": of(lambda t: F.group_norm(t.image, 3), 0, NONE),
    "attention": of(lambda t: F.scaled_dot_product_attention(*_heads(t)), 0, NONE),
    "attention with a mask": of(
        lambda t: F.scaled_dot_product_attention(
            *_heads(t), attn_mask=torch.ones(4, 4, device="cuda").bool()
        ),
        *(0, NONE),
    ),
    "lstm": of(lambda t: nn.LSTM(5, 4, device="cuda")(t.x[None]), 0, NONE),
    "gru": of(lambda t: nn.GRU(5, 4, device="cuda")(t.x[None]), 0, NONE),
    "lstm cell": of(lambda t: nn.LSTMCell(5, 4, device="cuda")(t.x), 0, NONE),
    "max_pool": of(lambda t: F.max_pool2d(t.image, 2), 0, NONE),
    "interpolate": of(lambda t: F.interpolate(t.image, scale_factor=2.0), 0, NONE),
    "grid_sample": of(
        lambda t: F.grid_sample(
            t.image, torch.zeros(2, 4, 4, 2, device="cuda"), align_corners=True
        ),
        *(0, NONE),
    ),
    "cross_entropy": of(backward(lambda t, x: F.cross_entropy(x, t.labels)), 0, "device asserts"),
    "bce": of(lambda t: F.binary_cross_entropy(t.v.sigmoid(), t.v.sigmoid()), 0, NONE),
    "gaussian_nll": of(
        lambda t: F.gaussian_nll_loss(t.v, t.v, t.v.exp()), 1, "Python: if any(var < 0)"
    ),
    "ctc_loss with lists": of(
        lambda t: F.ctc_loss(t.leaf(4, 2, 5).log_softmax(2), t.ids + 1, (4, 4), (2, 1)),
        *(5, "lengths, offsets, mean; MIOpen's check"),
        since=(2, 13),
    ),
    "adaptive softmax": of(
        lambda t: nn.AdaptiveLogSoftmaxWithLoss(5, 6, [3], device="cuda")(t.x, t.labels % 6),
        *(4, "for head and cluster: nonzero, and the mask indexes the target"),
    ),
    "autocast": of(lambda t: _autocast(t), 0, NONE),
    "checkpoint": of(
        backward(lambda t, x: checkpoint(torch.sin, x, use_reentrant=False)), 0, "state on the host"
    ),
    "checkpoint of a mask": of(
        backward(lambda t, x: checkpoint(lambda y: y[t.mask], x, use_reentrant=False)),
        *(2, "forward and IndexBackward0; the forward again stops before its kernel"),
    ),
    "fake_quantize per channel": of(
        lambda t: torch.fake_quantize_per_channel_affine(
            t.x, t.v.exp(), torch.zeros(6, device="cuda", dtype=torch.int32), 0, 0, 255
        ),
        *(2, "FakeQuantPerChannelAffine.cpp: the range of the zero points"),
    ),
    "istft": of(
        lambda t: torch.istft(
            torch.stft(
                t.leaf(64).detach(), 16, window=torch.ones(16, device="cuda"), return_complex=True
            ),
            16,
            window=torch.ones(16, device="cuda"),
        ),
        *(1, "SpectralOps.cpp: whether the window's envelope is 0"),
    ),
    "averaged model": of(lambda t: _averaged(t), 0, "its counter is on the host"),
}


def _heads(t: Tensors) -> list[torch.Tensor]:
    return [t.leaf(1, 2, 4, 8).detach() for _ in range(3)]


def _autocast(t: Tensors) -> object:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return t.x @ t.x.T


def _averaged(t: Tensors) -> None:
    model = nn.Linear(2, 2, device="cuda")
    torch.optim.swa_utils.AveragedModel(model).update_parameters(model)


UPDATES = {
    "SGD": of(update(torch.optim.SGD, lr=0.1, momentum=0.9), 0, NONE),
    "AdamW": of(update(torch.optim.AdamW, steps=2), 0, OPTIMIZER),
    "Adam single": of(update(torch.optim.Adam, foreach=False), 0, OPTIMIZER),
    "Adam fused": of(update(torch.optim.Adam, fused=True), 0, OPTIMIZER),
    "Adam capturable": of(update(torch.optim.Adam, capturable=True), 0, OPTIMIZER),
    "RMSprop": of(update(torch.optim.RMSprop), 0, OPTIMIZER),
    "Adagrad": of(update(torch.optim.Adagrad), 0, OPTIMIZER),
    "NAdam": of(update(torch.optim.NAdam), 0, OPTIMIZER),
    "RAdam": of(update(torch.optim.RAdam), 0, OPTIMIZER),
    "clip_grad_norm_": of(lambda t: _clip(t), 0, "the norm stays on the device"),
    "clip_grad_norm_ with errors": of(
        lambda t: _clip(t, error_if_nonfinite=True), 1, "clip_grad.py: if isnan or isinf"
    ),
    "clip_grad_value_": of(lambda t: nn.utils.clip_grad_value_([_with_gradient(t)], 1.0), 0, NONE),
    "GradScaler": of(scaled(torch.optim.SGD), 1, "grad_scaler.py: found_inf is read"),
    "GradScaler, fused": of(
        scaled(torch.optim.Adam, fused=True), 0, "the optimizer takes found_inf"
    ),
}


def _with_gradient(t: Tensors) -> torch.Tensor:
    parameter = t.leaf()
    parameter.grad = torch.ones_like(parameter)
    return parameter


def _clip(t: Tensors, **options: Any) -> object:
    return nn.utils.clip_grad_norm_([_with_gradient(t)], 1.0, **options)


FEATURES = {
    **READS, **COPIES, **SIZES, **INDICES, **ALGEBRA, **LAYERS, **UPDATES,
    **rarer_sync_features.FEATURES, **training_sync_features.FEATURES,
}  # fmt: skip
