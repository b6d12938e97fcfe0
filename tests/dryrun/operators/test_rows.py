"""Every row of the table: a call that syncs as it says, and the nearest one that does not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from support import torchvision_ops

from tb_hookview.dryrun import DryRun
from tb_hookview.dryrun.operators.table import ROWS, by_operator

Counted = Callable[[Callable[[], object]], tuple[int, int]]


class Case(NamedTuple):
    sync: Callable[[], object]
    count: int
    free: Callable[[], object]


def cuda(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, device="cuda")


def ints(*values: int) -> torch.Tensor:
    return cuda(*values, dtype=torch.int64)


def quantized(zero_point: torch.dtype) -> Callable[[], object]:
    x, scale = torch.randn(2, 3, device="cuda"), torch.ones(2, device="cuda")
    zero = torch.zeros(2, device="cuda", dtype=zero_point)
    return lambda: torch.fake_quantize_per_channel_affine(x, scale, zero, 0, 0, 255)


def prepared() -> dict[str, Case]:
    """Cases by the first operator of their row; tensors are made here, where nothing is counted."""
    x, v, mask = torch.randn(3, 4, device="cuda"), cuda(3, 1, 2), cuda(1, 0, 1).bool()
    i, square = ints(0, 2, 1), torch.randn(3, 3, device="cuda") + 4 * torch.eye(3, device="cuda")
    positive = square @ square.T
    host, scalar, host_i = torch.tensor(1.0), cuda(2.0)[0], torch.tensor([0, 1])
    many, long = torch.arange(40, device="cuda"), torch.zeros(2049, device="cuda")
    logits = torch.randn(4, 1, 3, device="cuda").log_softmax(2)
    grouped = [torch.randn(4, 8, device="cuda"), torch.randn(2, 8, 8, device="cuda")]
    offsets, sparse = cuda(2, 4, dtype=torch.int32), x.to_sparse()
    repeated = torch.sparse_coo_tensor(ints(0, 0)[None], cuda(1, 2), (3,), check_invariants=False)
    padded, jagged = torch.randn(2, 3, 4, device="cuda"), [ints(0, 2, 5)]
    compressed = x.to_sparse_csr()
    learned = [x, cuda(1.0), cuda(0.0)]
    by_channel = [x, torch.ones(3, device="cuda"), torch.zeros(3, device="cuda")]
    linalg, fake = torch.linalg, torch.ops.aten
    nested = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)], device="cuda")
    heads = torch.nested.as_nested_tensor([x.reshape(2, 3, 2), x.reshape(2, 3, 2)])
    observed = [torch.ones(1, device="cuda") for _ in range(8)]
    return {
        "_local_scalar_dense": Case(lambda: v[0].item(), 1, lambda: host.item()),
        "equal": Case(lambda: torch.equal(v, v + 1), 1, lambda: torch.equal(v, x)),
        "masked_fill_.Tensor": Case(
            lambda: v.masked_fill_(mask, scalar), 1, lambda: v.masked_fill_(mask, host)
        ),
        "fill_.Tensor": Case(lambda: host.fill_(scalar), 1, lambda: scalar.fill_(host)),
        "_to_sparse_csr": Case(
            lambda: compressed.to_sparse_csc(), 1, lambda: sparse.to_sparse_csr()
        ),
        "histc": Case(lambda: torch.histc(v), 2, lambda: torch.histc(v, min=0, max=3)),
        "searchsorted.Tensor": Case(
            lambda: torch.searchsorted(v, v, sorter=i), 2, lambda: torch.searchsorted(v, v)
        ),
        "normal.float_Tensor": Case(lambda: torch.normal(0.0, v), 2, lambda: torch.normal(v, 1.0)),
        "normal.float_Tensor_out": Case(
            lambda: torch.normal(0.0, v, out=torch.empty(3, device="cuda")),
            1,
            lambda: torch.normal(v, 1.0, out=torch.empty(3, device="cuda")),
        ),
        "fake_quantize_per_channel_affine_cachemask": Case(
            quantized(torch.int32), 2, quantized(torch.float32)
        ),
        "_fused_moving_avg_obs_fq_helper": Case(
            lambda: observe(observed),
            1,
            lambda: torch.fake_quantize_per_tensor_affine(x, 1.0, 0, 0, 255),
        ),
        "segment_reduce": Case(
            lambda: segment(v, False),
            2,
            lambda: segment(v, True),
        ),
        "_linalg_svd": Case(
            lambda: torch.linalg.svd(square),
            2,
            lambda: torch.linalg.svd(square[:0, :0]),
        ),
        "_linalg_eigh": Case(
            lambda: torch.linalg.eigh(positive), 1, lambda: torch.linalg.qr(positive)
        ),
        "linalg_eig": Case(lambda: linalg.eig(square), 3, lambda: linalg.eig(square[:0, :0])),
        "_linalg_eigvals": Case(
            lambda: linalg.eigvals(square), 2, lambda: torch.cholesky_inverse(positive)
        ),
        "linalg_inv_ex": Case(
            lambda: linalg.inv_ex(square, check_errors=True), 1, lambda: linalg.inv_ex(square)
        ),
        "linalg_matrix_exp": Case(
            lambda: linalg.matrix_exp(square), 2, lambda: linalg.matrix_exp(square[:1, :1])
        ),
        "_fake_quantize_learnable_per_tensor_affine": Case(
            lambda: fake._fake_quantize_learnable_per_tensor_affine(*learned, 0, 255),
            2,
            lambda: torch.fake_quantize_per_tensor_affine(x, 1.0, 0, 0, 255),
        ),
        "_fake_quantize_learnable_per_channel_affine": Case(
            lambda: fake._fake_quantize_learnable_per_channel_affine(*by_channel, 0, 0, 255),
            2,
            lambda: torch.fake_quantize_per_channel_affine(*by_channel, 0, 0, 255),
        ),
        "quantize_per_tensor.tensor_qparams": Case(
            lambda: torch.quantize_per_tensor(x, scalar, i[0], torch.qint8),
            2,
            lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        ),
        "quantize_per_tensor_dynamic": Case(
            lambda: torch.quantize_per_tensor_dynamic(x, torch.qint8, False),
            2,
            lambda: torch.quantize_per_tensor(x, host, torch.tensor(0), torch.qint8),
        ),
        "to_padded_tensor": Case(
            lambda: nested.to_padded_tensor(0.0), 1, lambda: nested.bfloat16().to_padded_tensor(0.0)
        ),
        "_nested_from_padded": Case(
            lambda: torch._nested_from_padded(padded, torch.tensor([[2, 4], [3, 4]])),
            0,  # the driver decides
            lambda: fake._transform_bias_rescale_qkv(x.reshape(1, 1, 12), x.flatten(), 2),
        ),
        "scaled_dot_product_attention": Case(
            lambda: F.scaled_dot_product_attention(heads, heads, heads),
            2,
            lambda: F.scaled_dot_product_attention(padded, padded, padded),
        ),
        "nonzero": Case(lambda: v.nonzero(), 1, lambda: torch.nonzero_static(v, size=3)),
        "masked_select": Case(lambda: v.masked_select(mask), 1, lambda: torch.where(mask, v, 0.0)),
        "_unique": Case(lambda: torch.unique(i), 1, lambda: torch.unique(i[:0])),
        "repeat_interleave.Tensor": Case(
            lambda: v.repeat_interleave(i), 2, lambda: v.repeat_interleave(i, output_size=3)
        ),
        "bincount": Case(lambda: torch.bincount(i), 2, lambda: torch.bincount(i[:0])),
        "isin.Tensor_Tensor": Case(
            lambda: torch.isin(i, many), 3, lambda: torch.isin(i, many, assume_unique=True)
        ),
        "mode": Case(lambda: long.mode(), 1, lambda: long[:2048].mode()),
        "torchvision::nms": Case(lambda: nms(2), 1, lambda: nms(0)),
        "_grouped_mm": Case(
            lambda: torch._grouped_mm(*grouped, offs=offsets),
            1,
            lambda: torch._grouped_mm(*(part.bfloat16() for part in grouped), offs=offsets),
        ),
        "_padded_dense_to_jagged_forward": Case(
            lambda: torch.ops.aten._padded_dense_to_jagged_forward(padded, jagged),
            1,
            lambda: torch.ops.aten._padded_dense_to_jagged_forward(padded, jagged, 5),
        ),
        "_coalesce": Case(lambda: repeated.coalesce(), 1, lambda: sparse.coalesce()),
        "index_select": Case(lambda: sparse.index_select(0, i), 1, lambda: x.index_select(0, i)),
        "hspmm": Case(lambda: torch.hspmm(sparse, x.T), 1, lambda: x @ x.T),
        "_sparse_csr_sum.dim_dtype": Case(
            lambda: torch.ops.aten._sparse_csr_sum(compressed, [0], True),
            2,
            lambda: torch.ops.aten.sum(x, [0], True),
        ),
        "add.Tensor": Case(lambda: x + compressed, 1, lambda: x + x),
        "_index_put_impl_": Case(
            lambda: v.index_put_((host_i,), scalar),
            1,
            lambda: v.index_put_((mask,), host),
        ),
        "where.self": Case(
            lambda: torch.where(mask, v, host), 1, lambda: torch.where(mask, v, scalar)
        ),
        "_ctc_loss": Case(
            lambda: torch.ops.aten._ctc_loss(logits, i[None, 1:2], (4,), (1,)),
            3,
            lambda: F.nll_loss(logits[0], i[:1]),
        ),
        "_foreach_copy_": Case(
            lambda: torch._foreach_copy_([scalar], [host]),
            1,
            lambda: torch._foreach_copy_([scalar], [scalar]),
        ),
    }


def segment(v: torch.Tensor, unsafe: bool) -> torch.Tensor:
    lengths = torch.ones(3, dtype=torch.int64, device="cuda")
    return torch.segment_reduce(v, "sum", lengths=lengths, unsafe=unsafe)


def nms(boxes: int) -> object:
    return torch.ops.torchvision.nms(
        torch.rand(boxes, 4, device="cuda"), torch.rand(boxes, device="cuda"), 0.5
    )


def observe(parts: list[torch.Tensor]) -> object:
    x, on, low, high, scale, zero = parts[0], parts[1].long(), *parts[2:5], parts[5].int()
    return torch.fused_moving_avg_obs_fake_quant(x, on, on, low, high, scale, zero, 0.1, 0, 255, 0)


def test_rows_sync_as_they_say(counted: Counted, run: DryRun) -> None:
    torchvision_ops.declare()
    run.register("torchvision::nms", lambda boxes, *_: torch.zeros(len(boxes), dtype=torch.int64))
    cases = prepared()
    assert set(cases) == {row.operators[0] for row in ROWS}
    found = {name: counted(case.sync)[0] for name, case in cases.items()}
    assert found == {name: case.count for name, case in cases.items()}
    free = {name: counted(case.free) for name, case in cases.items()}
    assert {name: found for name, found in free.items() if any(found)} == {}


def test_a_row_holds_from_its_first_version_on() -> None:
    versions = [(2, 8), (2, 9), (2, 10)]
    found = [by_operator(version) for version in versions]
    assert ["aten::_grouped_mm" in rows for rows in found] == [False, True, True]
    assert {"aten::hspmm", "aten::hspmm.out", "torchvision::nms"} <= found[0].keys()


def test_sizes_of_a_nested_tensor_may_wait_for_the_driver(counted: Counted) -> None:
    padded, sizes = torch.randn(2, 3, 4, device="cuda"), torch.tensor([[2, 4], [3, 4]])
    assert counted(lambda: torch._nested_from_padded(padded, sizes)) == (0, 1)


def test_sums_and_products_of_compressed_tensors_sync_for_any_dimensions(counted: Counted) -> None:
    compressed = torch.eye(3, device="cuda").to_sparse_csr()
    for name in ("_sparse_csr_sum", "_sparse_csr_prod"):
        for dims, syncs in (([0], 2), ([-1], 1), ([0, 1], 1)):
            call = functools.partial(getattr(torch.ops.aten, name), compressed, dims, True)
            assert (name, dims, counted(call)) == (name, dims, (syncs, 0))


def test_every_row_says_where_it_is_from() -> None:
    assert [row.operators for row in ROWS if not (row.source and row.condition)] == []


def test_losses_copy_what_they_need_of_lengths(counted: Counted) -> None:
    logits = torch.randn(4, 1, 3, device="cuda").log_softmax(2)
    target = torch.tensor([[1]], device="cuda")
    with_lists = counted(lambda: F.ctc_loss(logits, target, (4,), (1,), reduction="none"))[0]
    assert with_lists >= 3
