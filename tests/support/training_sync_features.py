"""What training scripts do around the model: Python, checkpoints, schedules, masks, data."""

# ruff: noqa: ARG005  # a table of calls, one a line where it fits
from __future__ import annotations

import copy
import dataclasses
import io
import logging
import pickle
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from support.sync_feature import (
    COALESCED,
    COPY,
    COUNTED,
    ERRORS,
    INDEX,
    NONE,
    OPTIMIZER,
    READ,
    Feature,
    Tensors,
    of,
    put,
    update,
)  # fmt: skip
from torch import distributions, nn
from torch.optim import lr_scheduler
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader

PYTHON = {
    "f-string without a format": of(lambda t: f"{t.scalar}", 1, READ),
    "percent": of(lambda t: "%.3f" % t.scalar, 1, "__float__ reads"),  # noqa: UP031
    "message that is not logged": of(
        lambda t: logging.getLogger("quiet").debug("%s", t.scalar), 0, "never formatted"
    ),
    "str": of(lambda t: str(t.scalar), 8, "_tensor_str.py: masked_select, then comparisons"),
    "any() of a mask": of(lambda t: any(t.mask), 1, "stops at the first, which is true"),
    "all() of a mask": of(lambda t: all(t.v > -99), 6, READ),
    "min with a number": of(lambda t: min(t.scalar, 3.0), 1, "compares: bool()"),
    "equal dataclasses": of(lambda t: _dataclasses(t), 1, "== of a field, then bool()"),
    "asarray of numpy": of(lambda t: torch.asarray(np.ones(2), device="cuda"), 1, COPY),
    "numpy by force": of(lambda t: t.leaf().numpy(force=True), 1, COPY),
    "tensor of a tensor": of(lambda t: t.x.clone().detach().new_tensor(1.0), 1, COPY),
    "pickle": of(lambda t: pickle.dumps(t.x), 1, "the storage goes to the host"),
    "copy of a model": of(lambda t: copy.deepcopy(nn.Linear(2, 2, device="cuda")), 0, NONE),
    "load to the device": of(lambda t: _loaded(t), 4, "two storages, there and back"),
    "load to the host": of(lambda t: _loaded(t, map_location="cpu"), 2, "there only"),
    "profiler": of(lambda t: _profiled(t), 0, "its own wait at the end is left out"),
    "default device": of(lambda t: _with_device(), 1, "a list is made on the host"),
    "histogram of a range": of(lambda t: torch.histc(t.x, 4, -1, 1), 0, "the range is given"),
}


def _dataclasses(t: Tensors) -> bool:
    @dataclasses.dataclass
    class Metric:
        value: torch.Tensor

    return Metric(t.scalar) == Metric(t.scalar + 1)


def _loaded(t: Tensors, **options: Any) -> object:
    file = io.BytesIO()
    torch.save({"x": t.x, "v": t.v}, file)
    file.seek(0)
    return torch.load(file, **options)


def _profiled(t: Tensors) -> None:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
        t.x.sum()


def _with_device() -> object:
    with torch.device("cuda"):
        return torch.zeros(3), torch.tensor([1.0])


def _scheduled(make: Any) -> Any:
    def run(t: Tensors) -> object:
        optimizer = torch.optim.AdamW([t.leaf()], 0.1)
        schedule = make(optimizer)
        for _ in range(2):
            optimizer.step()
            schedule.step()
        return schedule.get_last_lr()

    return run


def _stepped(then: Any, **options: Any) -> Any:
    def run(t: Tensors) -> object:
        parameter = t.leaf(3, 2)
        parameter.grad = torch.ones_like(parameter)
        optimizer = torch.optim.AdamW([parameter], **options)
        optimizer.step()
        return then(optimizer)

    return run


def _average(t: Tensors) -> None:
    model, ema = nn.Linear(2, 2, device="cuda"), torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=ema)
    average.update_parameters(model)
    average.update_parameters(model)


UPDATES = {
    **{
        f"{name} {option}": of(
            update(getattr(torch.optim, name), steps=2, **{option: True}), 0, OPTIMIZER
        )
        for name in ("Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop")
        for option in ("foreach", "capturable")
    },
    "Adagrad fused": of(update(torch.optim.Adagrad, fused=True), 0, OPTIMIZER, since=(2, 13)),
    "OneCycleLR": of(_scheduled(lambda o: lr_scheduler.OneCycleLR(o, 0.1, 9)), 0, "Python numbers"),
    "CosineAnnealingLR": of(
        _scheduled(lambda o: lr_scheduler.CosineAnnealingLR(o, 9)), 0, "Python numbers"
    ),
    "checkpoint of AdamW": of(
        _stepped(lambda o: torch.save(o.state_dict(), io.BytesIO())),
        *(2, "averages of gradients; the step count is on the host"),
    ),
    "checkpoint of fused AdamW": of(
        _stepped(lambda o: torch.save(o.state_dict(), io.BytesIO()), fused=True),
        *(3, "and the step count, on the device"),
    ),
    "state of an optimizer loaded": of(
        _stepped(lambda o: o.load_state_dict(o.state_dict())), 0, "it is on the device"
    ),
    "moving average, all parameters": of(
        lambda t: _average(t), 1, "swa_utils.py: from the second on the counter is moved"
    ),
    "foreach with scalars of the host": of(
        lambda t: torch._foreach_addcdiv_(
            [t.v, t.v], [t.v, t.v], [t.v, t.v], torch.tensor([1.0, 2.0])
        ),
        *(0, "ForeachUtils.h reads them on the host"),
    ),
}
DEVICE = {
    "profiler of the runtime": of(
        lambda t: (torch.cuda.cudart().cudaProfilerStart(), torch.cuda.profiler.stop()), 0, NONE
    ),
    "history of the allocator": of(
        lambda t: (torch.cuda.memory._record_memory_history(), torch.cuda.memory._snapshot()),
        *(0, "kept on the host"),
    ),
    "names of the build": of(
        lambda t: (
            torch.cuda.nccl.version()[0],
            torch.version.cuda.split("."),  # type: ignore[union-attr]
            torch.cuda.get_allocator_backend(),
        ),
        0,
        "known without the device",
    ),
    "pool of memory": of(
        lambda t: torch.cuda.use_mem_pool(torch.cuda.MemPool()).__enter__(), 0, NONE
    ),
    "NVTX for each operator": of(lambda t: _with_nvtx(t), 2, "profiler.py: at both of its ends"),
    "stream by its old name": of(lambda t: torch.Stream(device="cuda").synchronize(), 1, "waits"),
    "old default type": of(lambda t: _default_type(), 1, "a list is made on the host"),
    "captured modules": of(
        lambda t: torch.cuda.make_graphed_callables(nn.Linear(5, 2, device="cuda"), (t.x,)),
        *(4, "graphs.py: around the warmup, and before each capture, forward and backward"),
    ),
}


def _with_nvtx(t: Tensors) -> None:
    with torch.autograd.profiler.emit_nvtx():
        t.x.sum()


def _default_type() -> object:
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    try:
        made = torch.zeros(3), torch.tensor([1.0])
        assert all(each.is_cuda for each in made)
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    return made


MASKS = {
    "mask updated in place": of(put(lambda t: t.mask, lambda t: t.x[t.mask] + 1), 2, COUNTED),
    "indices updated in place": of(put(lambda t: t.i, lambda t: t.x[t.i] + 1), 0, NONE),
    "mask of a column assigned": of(put(lambda t: (t.mask, 0), lambda t: 1.0), 0, "masked_fill_"),
    "range as an index": of(lambda t: t.x[range(3)], 1, INDEX),
    "numpy as an index": of(lambda t: t.x[np.array([0, 2])], 1, INDEX),
    "number of numpy as an index": of(lambda t: t.x[np.int64(1)], 0, "select"),
    "two tensors as a slice": of(lambda t: t.x[t.integer : t.integer + 2], 2, READ),
    "condition as an index": of(lambda t: t.x[t.scalar > 1], 1, "a 0-dim mask is read"),
    "rows assigned from the host": of(
        put(lambda t: slice(1, 3), lambda t: t.host[1:3]), 1, "copy_ from the host"
    ),
    "where of pairs": of(lambda t: t.x[torch.where(t.x > 0)], 1, "nonzero; indices are there"),
    "filled on the host": of(
        lambda t: t.host.clone().fill_(t.scalar), 1, "Fill.cpp: item() for the other device"
    ),
    "lengths to a mask": of(
        lambda t: torch.arange(int(t.counts.max()), device="cuda") < t.counts[:, None], 1, READ
    ),
    "split by lengths": of(lambda t: t.x.split(t.counts.tolist()), 1, COPY),
    "loss without padding": of(
        lambda t: F.cross_entropy(t.x, t.labels, reduction="none")[t.labels > 0].mean(), 1, COUNTED
    ),
    "loss that ignores padding": of(
        lambda t: F.cross_entropy(t.x, t.labels, ignore_index=0), 0, NONE
    ),
    "encoder that looks for causal masks": of(
        lambda t: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device="cuda"), 1
        )(t.image[:, 0], mask=nn.Transformer.generate_square_subsequent_mask(8, device="cuda")),
        *(1, "transformer.py: whether the mask equals a causal one"),
    ),
    "packed by lengths of the device": of(
        lambda t: nn.utils.rnn.pack_padded_sequence(
            t.x[None], (t.i[:1] + 6).cpu(), batch_first=True
        ),
        *(1, COPY),
    ),
    "trace backward": of(
        lambda t: t.square.requires_grad_().trace().backward(),
        *(1, "FunctionsManual.cpp: index_fill_ by a tensor"),
    ),
    "index_fill backward": of(
        lambda t: t.leaf().index_fill(0, t.i, t.leaf(1)[0]).sum().backward(),
        *(2, "the value is read; of the indices, unique ones are counted"),
    ),
    "kaiser window": of(lambda t: torch.kaiser_window(16, device="cuda"), 0, NONE),
    "hann window of torch.signal": of(
        lambda t: torch.signal.windows.hann(16, device="cuda"), 1, "windows.py: a list of numbers"
    ),
    "bernoulli with checks": of(
        lambda t: distributions.Bernoulli(logits=t.x).sample(), 1, "the argument: if not all()"
    ),
    "normal, log_prob": of(
        lambda t: distributions.Normal(t.v, t.v.exp()).log_prob(t.v), 3, "arguments, and the value"
    ),
    "normal of numbers": of(
        lambda t: distributions.Normal(0.0, 1.0).sample(), 0, "of the host throughout"
    ),
    "condition number": of(lambda t: torch.linalg.cond(t.square), 2, "svdvals"),
    "inverse power": of(lambda t: torch.linalg.matrix_power(t.square, -1), 1, ERRORS),
    "solve backward": of(
        lambda t: torch.linalg.solve(t.square.requires_grad_(), t.v[:4]).sum().backward(),
        *(1, "the forward alone: the backward solves without checks"),
    ),
}
DATA = {
    "pinned loader": of(
        lambda t: [each.to("cuda", non_blocking=True) for each in _loader(pin_memory=True)], 0, NONE
    ),
    "pinned images, channels last": of(
        lambda t: (
            torch.ones(1, 3, 4, 4)
            .pin_memory()
            .to("cuda", non_blocking=True, memory_format=torch.channels_last)
        ),
        *(0, "Copy.cu: the copy is contiguous, the order is changed on the device"),
    ),
    "read into pinned memory, converting": of(
        lambda t: torch.empty(6, 5).double().pin_memory().copy_(t.x, non_blocking=True),
        *(0, "Copy.cu converts on the device"),
    ),
    "read into pinned and transposed memory, converting": of(
        lambda t: torch.empty(5, 6).double().pin_memory().T.copy_(t.x, non_blocking=True),
        *(1, "Copy.cu: by way of a contiguous tensor, in pageable memory"),
    ),
    "pageable loader": of(lambda t: [each.to("cuda") for each in _loader()], 2, COPY),
    "module to the device, non_blocking": of(
        lambda t: nn.Linear(2, 2).to("cuda", non_blocking=True), 0, "the driver stages copies", 2
    ),
    "saved on the host": of(lambda t: _saved_on_host(t), 2, "there in forward, back in backward"),
    "batch mixed by the host": of(lambda t: t.x + t.x[torch.randperm(6)], 1, INDEX),
}


def _loader(**options: Any) -> Any:
    return DataLoader([torch.ones(2)] * 4, 2, **options)  # type: ignore[arg-type]


def _saved_on_host(t: Tensors) -> None:
    with torch.autograd.graph.save_on_cpu():
        y = t.leaf().exp()
    y.sum().backward()


def _repeated(t: Tensors) -> torch.Tensor:
    return torch.sparse_coo_tensor(torch.stack([t.i, t.i]), t.v[:3].abs(), (6, 6))


SPARSE = {
    "root of repeated indices": of(lambda t: _repeated(t).sqrt(), 1, COALESCED),
    "norm of repeated indices": of(lambda t: _repeated(t).norm(), 1, COALESCED),
    "repeated indices doubled": of(lambda t: _repeated(t) * 2, 0, "its values alone"),
    "part of a sparse tensor": of(
        lambda t: t.x.to_sparse().narrow_copy(0, 0, 2), 3, "to_sparse; masked_select, nonzero"
    ),
    "row of a compressed tensor": of(
        lambda t: t.x.to_sparse_csr()[0], 3, "to_sparse_csr; where the row begins and ends"
    ),
    "columns compressed": of(
        lambda t: t.x.to_sparse_csr().to_sparse_csc(), 3, "to_sparse_csr; the number of elements"
    ),
    "SparseAdam": of(lambda t: _sparse(t, torch.optim.SparseAdam), 1, COALESCED),
    "SGD with sparse gradients": of(lambda t: _sparse(t, torch.optim.SGD), 0, "added as they are"),
}


def _sparse(t: Tensors, make: Any) -> None:
    table = nn.Embedding(6, 4, sparse=True, device="cuda")
    table(t.labels).sum().backward()
    make(table.parameters(), lr=0.1).step()


FEATURES: dict[str, Feature] = {
    **PYTHON, **UPDATES, **DEVICE, **MASKS, **DATA, **SPARSE,
}  # fmt: skip
REFUSED: dict[str, Any] = {
    "numpy": lambda t: t.x.numpy(),
    "asarray": lambda t: np.asarray(t.x),
    "index_select by the host": lambda t: t.x.index_select(0, t.host_i),
    "gather by the host": lambda t: t.x.gather(0, t.host_i[None]),
    "a host tensor indexed by the device": lambda t: t.host[t.i],
    "a host tensor at indices": lambda t: t.x.index_put_((t.i,), t.host[:3]),
    "where of a host mask": lambda t: torch.where(t.mask.cpu(), t.v, t.v),
    "where of a host tensor": lambda t: torch.where(t.mask, t.v, torch.zeros(6)),
    "sum of both": lambda t: t.x + t.host,
    "cat of both": lambda t: torch.cat([t.x, t.host]),
    "matmul of both": lambda t: t.x @ t.host.T,
    "embedding of the host": lambda t: F.embedding(t.ids, t.host),
    "cross_entropy of host labels": lambda t: F.cross_entropy(t.x, t.labels.cpu()),
    "convolution of the host": lambda t: nn.Conv2d(3, 4, 3)(t.image),
    "tensor_split by the device": lambda t: t.x.tensor_split(t.i),
    "packed by the device": lambda t: nn.utils.rnn.pack_padded_sequence(t.x[None], t.i[:1] + 6),
    "histogram": lambda t: torch.histogram(t.v, 4),
    "reduction of a compressed product": lambda t: torch.sparse.mm(
        t.x.to_sparse_csr(), t.x.T, "sum"
    ),
}
"""Calls that raise on CUDA: operands of two devices, or operators of the CPU alone."""
