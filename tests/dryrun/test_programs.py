"""Whole programs: results are those of the CPU, and what is clean stays silent."""

from __future__ import annotations

import copy
import io
import itertools
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tb_hookview.dryrun import DryRun, dry_run

Counted = Callable[[Callable[[], object]], tuple[int, int]]


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.first(x)).relu().mean((2, 3)))


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.mix = nn.Embedding(9, 8), nn.Linear(8, 24)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ids = (x.flatten(1)[:, :6].abs() * 4).long().clamp(0, 8)
        h = self.embed(ids)
        q, k, v = self.mix(self.norm(h)).view(*ids.shape, 3, 2, 4).permute(2, 0, 3, 1, 4)
        h = h + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.head(F.dropout(h.mean(1), 0.1))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(192, 8), nn.GELU(), nn.Linear(8, 5)),
    "convolutional": Convolutional,
    "attending": Attending,
}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-3),
    "fused": lambda p: torch.optim.AdamW(p, 1e-3, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 1e-3),
    "nadam": lambda p: torch.optim.NAdam(p, 1e-3),
}


def batches(count: int, *, pinned: bool) -> Iterator[list[torch.Tensor]]:
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(4 * count, 3, 8, 8), torch.randint(0, 5, (4 * count,)))
    yield from DataLoader(data, batch_size=4, pin_memory=pinned)


def train(
    make: Callable[[], nn.Module],
    optimize: Callable[..., torch.optim.Optimizer],
    device: str,
    *,
    half: bool = False,
    after: Callable[[], object] = lambda: None,
) -> list[torch.Tensor]:
    """Clip, schedule, and leave the loss on the device; the parameters after four steps."""
    torch.manual_seed(0)
    model = make().to(device)
    optimizer = optimize(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    losses = torch.zeros((), device=device)
    for x, y in batches(4, pinned=device == "cuda"):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        with torch.autocast(device, torch.bfloat16, enabled=half):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses += loss.detach()
        after()
    return [p.detach().cpu() for p in (*model.parameters(), *model.buffers(), losses)]


CONTROLS = list(itertools.product(MODELS, OPTIMIZERS, (False, True)))


@pytest.mark.slow
def test_clean_steps_are_silent() -> None:
    """Thirty programs: a model, an optimizer, single or half precision."""
    assert len(CONTROLS) == 30
    noisy = {}
    for model, optimizer, half in CONTROLS:
        with dry_run() as run:
            train(MODELS[model], OPTIMIZERS[optimizer], "cuda", half=half, after=run.step)
        found = [sync for sync in run.syncs if 1 <= sync.step < run.recorder.step]
        if found:
            noisy[model, optimizer, half] = [(sync.code, sync.reason) for sync in found]
    assert noisy == {}


@pytest.mark.parametrize("model", MODELS)
def test_results_are_those_of_the_cpu_bit_for_bit(model: str) -> None:
    host = train(MODELS[model], OPTIMIZERS["sgd"], "cpu")
    with dry_run():
        device = train(MODELS[model], OPTIMIZERS["sgd"], "cuda")
    if model == "attending":  # the CPU's own attention is fused
        torch.testing.assert_close(device, host)
    else:
        assert all(map(torch.equal, host, device))


def test_clean_steps_of_one_program_are_silent(run: DryRun) -> None:
    train(MODELS["attending"], OPTIMIZERS["adamw"], "cuda", half=True, after=run.step)
    run.check(warmup=1)


@pytest.fixture
def nccl(run: DryRun, tmp_path: object) -> Iterator[DryRun]:
    store = dist.FileStore(f"{tmp_path}/store", 1)
    dist.init_process_group("nccl", store=store, rank=0, world_size=1)
    try:
        yield run
    finally:
        dist.destroy_process_group()


def steps(run: DryRun, model: nn.Module, count: int = 4) -> list[tuple[int, str]]:
    """Syncs of the steps after the first, as step and operator."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.randn(4, 4, device="cuda")
    run.step()
    first = run.recorder.step
    for _ in range(count):
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        run.step()
    return [(sync.step - first, sync.operator) for sync in run.syncs if sync.step >= first]


def small() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)).to("cuda")


def test_data_parallel_training_runs_over_gloo(nccl: DryRun) -> None:
    model = nn.parallel.DistributedDataParallel(small(), device_ids=[0])
    # Once, in its second step, the order of buckets is sent to all ranks, from the host.
    assert {step for step, _ in steps(nccl, model)} <= {1}
    assert dist.get_backend() == "nccl"
    summed = torch.ones(2, device="cuda")
    dist.all_reduce(summed)
    assert summed.is_cuda
    dist.barrier()
    assert nccl.syncs[-1].cause == "sync-explicit"


@pytest.mark.parametrize("option", ["find_unused_parameters", "static_graph"])
def test_data_parallel_training_notes_used_parameters_in_pinned_memory(
    nccl: DryRun, option: str
) -> None:
    options = {option: True}
    model = nn.parallel.DistributedDataParallel(small(), device_ids=[0], **options)
    # A static graph's order of buckets is sent in the third step.
    assert {step for step, _ in steps(nccl, model)} <= {2}


def test_fully_sharded_training_is_silent(nccl: DryRun) -> None:
    from torch.distributed.fsdp import fully_shard

    model = small()
    fully_shard(model[0])
    fully_shard(model)
    assert steps(nccl, model) == []


def test_synchronized_batch_norm_masks_empty_ranks(nccl: DryRun) -> None:
    from torch.nn.modules._functions import SyncBatchNorm

    x = torch.randn(8, 4, 2, device="cuda", requires_grad=True)
    norm = nn.BatchNorm1d(4).to("cuda")
    nccl.step()
    group = dist.group.WORLD
    made = SyncBatchNorm.apply(x, norm.weight, norm.bias, None, None, 1e-5, 0.1, group, 1)
    assert [sync.cause for sync in nccl.syncs if sync.step == 1] == ["sync-mask-index"] * 3
    torch.testing.assert_close(made, norm(x))


def test_sparse_tensors(run: DryRun) -> None:
    weight = torch.eye(3, device="cuda").to_sparse()
    dense = torch.randn(3, 2, device="cuda", requires_grad=True)
    torch.sparse.mm(weight, dense).sum().backward()
    compressed = weight.to_dense().to_sparse_csr()
    assert (compressed @ dense.detach()).is_cuda
    assert torch.equal(compressed.to_dense(), weight.to_dense())
    embedding = nn.Embedding(5, 3, sparse=True, device="cuda")
    optimizer = torch.optim.SparseAdam(embedding.parameters())
    embedding(torch.tensor([1, 2], device="cuda")).sum().backward()
    run.step()
    optimizer.step()
    assert [sync.operator for sync in run.syncs if sync.step == 1] == ["aten::_coalesce"]


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_nested_tensors(run: DryRun, layout: torch.layout) -> None:
    parts = [torch.randn(2, 4), torch.randn(3, 4)]
    nested = torch.nested.nested_tensor(parts, layout=layout, device="cuda")
    out = nn.Linear(4, 2, device="cuda")(nested)
    padded = torch.nested.to_padded_tensor(out, 0.0)
    assert padded.is_cuda
    assert padded.shape == (2, 3, 2)


def test_attention_of_jagged_tensors(run: DryRun) -> None:
    """As with a GPU a fused kernel runs, which reads no lengths; results are those of each part."""
    parts, mix = [torch.randn(2, 8), torch.randn(3, 8)], nn.Linear(8, 24)
    host, device = copy.deepcopy(mix), mix.to("cuda")
    for part in parts:
        q, k, v = host(part).view(-1, 3, 2, 4).permute(1, 2, 0, 3)
        F.scaled_dot_product_attention(q, k, v, is_causal=True).square().sum().backward()
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged, device="cuda")
    run.step()
    heads = (each.unflatten(-1, (2, 4)).transpose(1, 2) for each in device(jagged).chunk(3, -1))
    out = F.scaled_dot_product_attention(*heads, is_causal=True)
    out.transpose(1, 2).values().square().sum().backward()
    assert [sync for sync in run.syncs if sync.step == 1 and sync.node] == []
    assert device.weight.grad is not None
    torch.testing.assert_close(device.weight.grad.cpu(), host.weight.grad)


@pytest.mark.parametrize(("features", "reads"), [(4, 0), (5, 6)])
def test_jagged_heads_that_fit_no_fused_kernel_have_their_lengths_read(
    counted: Counted, features: int, reads: int
) -> None:
    parts = [torch.randn(2, features, device="cuda"), torch.randn(3, features, device="cuda")]
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    heads = jagged.unflatten(-1, (1, features)).transpose(1, 2)
    assert counted(lambda: F.scaled_dot_product_attention(heads, heads, heads)) == (reads, 0)


def test_an_event_that_was_never_recorded_is_nothing_to_wait_for(counted: Counted) -> None:
    event = torch.cuda.Event()
    assert counted(event.synchronize) == (0, 0)
    event.record()
    assert counted(event.synchronize) == (1, 0)


def test_a_deterministic_backward_of_gather_makes_its_indices_on_the_device(
    counted: Counted,
) -> None:
    x = torch.randn(3, 4, device="cuda", requires_grad=True)
    loss = x.gather(1, torch.zeros(3, 2, device="cuda", dtype=torch.int64)).sum()
    torch.use_deterministic_algorithms(True)
    try:
        assert counted(loss.backward) == (0, 0)
    finally:
        torch.use_deterministic_algorithms(False)


def test_quantized_tensors(run: DryRun) -> None:
    x = torch.randn(3, 4)
    there = torch.quantize_per_tensor(x.to("cuda"), 0.1, 3, torch.qint8)
    assert there.is_cuda
    assert (there.q_scale(), there.int_repr().dtype) == (0.1, torch.int8)
    host = torch.quantize_per_tensor(x, 0.1, 3, torch.qint8).dequantize()
    for each in (there, there.clone(), there.cpu().to("cuda"), there.t().t()):
        assert torch.equal(each.dequantize().cpu(), host)
    scales, zeros = torch.full((3,), 0.1, device="cuda"), torch.zeros(3, device="cuda").long()
    by_row = torch.quantize_per_channel(x.to("cuda"), scales, zeros, 0, torch.qint8)
    assert by_row.q_per_channel_scales().is_cuda
    assert by_row.cpu().q_per_channel_scales().tolist() == pytest.approx([0.1] * 3)
    there.fill_(1.0)
    assert there[0, 0].item() == pytest.approx(1.0)
    assert run.syncs[-1].operator == "aten::_local_scalar_dense"


def test_quantization_aware_training(run: DryRun) -> None:
    config = torch.ao.quantization.get_default_qat_qconfig()
    layer = torch.ao.nn.qat.Linear(4, 3, qconfig=config).to("cuda")
    run.step()
    layer(torch.ones(2, 4, device="cuda")).sum().backward()
    assert layer.weight.grad is not None
    found = {(sync.operator, sync.count) for sync in run.syncs if sync.step == 1}
    assert ("aten::_fused_moving_avg_obs_fq_helper", 1) in found


def test_functional_transforms(run: DryRun) -> None:
    x = torch.randn(3, device="cuda")
    hessian = torch.func.hessian(lambda a: (a**3).sum())(x)
    torch.testing.assert_close(hessian, torch.diag(6 * x))
    assert torch.vmap(torch.dot)(torch.eye(3, device="cuda"), x.expand(3, 3)).is_cuda


def test_what_is_saved_and_copied_comes_back(run: DryRun) -> None:
    model = copy.deepcopy(small())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    for place in ("cuda", "cpu"):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert loaded["0.weight"].device.type == place
        assert torch.equal(loaded["0.weight"].cpu(), model[0].weight.detach().cpu())


def test_the_default_device(run: DryRun) -> None:
    with torch.device("cuda"):
        layer = nn.GRU(2, 3)
        layer(torch.randn(4, 1, 2))[0].sum().backward()
    assert layer.weight_ih_l0.grad is not None
    assert layer.weight_ih_l0.grad.is_cuda


def test_recurrent_networks_warn_of_no_missing_library(run: DryRun) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.LSTM(2, 3, device="cuda").flatten_parameters()


def test_types_and_old_names(run: DryRun) -> None:
    x = torch.cuda.FloatTensor([1, 2])
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x, torch.cuda.HalfTensor)
    for dtype in (torch.float8_e4m3fn, torch.complex64, torch.uint16, torch.bool):
        assert x.to(dtype).to("cpu").dtype is dtype
    conjugated = torch.tensor([1 + 2j], device="cuda").conj()
    assert (conjugated * 1).tolist() == [1 - 2j]
    assert (conjugated.imag * 1).tolist() == [-2]


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_softmax_of_half_in_single_precision(run: DryRun, name: str, dtype: torch.dtype) -> None:
    """Autocast asks for it, which only CUDA has a kernel for."""
    call = getattr(F, name)
    host = torch.randn(4, 8, dtype=dtype, requires_grad=True)
    device = host.detach().cuda().requires_grad_()
    expected = call(host.float(), -1)
    with torch.autocast("cuda", dtype=dtype):
        result = call(device, -1)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result.cpu(), expected)
    expected.square().sum().backward()
    result.square().sum().backward()
    assert device.grad is not None
    assert host.grad is not None
    torch.testing.assert_close(device.grad.cpu(), host.grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_what_runs_in_single_precision_writes_its_results_alone(
    run: DryRun, dtype: torch.dtype
) -> None:
    image = torch.randn(1, 1, 4, 4, device="cuda", dtype=dtype, requires_grad=True)
    # The gradient of a sum is one number, expanded: no kernel can write into it.
    F.interpolate(image, size=[2, 2], mode="bilinear", antialias=True).sum().backward()
    assert image.grad is not None
    assert image.grad.dtype is dtype
    torch.testing.assert_close(image.grad.sum().item(), 4.0, rtol=0.02, atol=0)
