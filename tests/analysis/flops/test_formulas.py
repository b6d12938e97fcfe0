"""FLOPs by shapes, against `torch.utils.flop_counter` on models that run here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import (
    FlopCounterMode,
    sdpa_backward_flop_count,
    sdpa_flop_count,
)

from tb_hookview.analysis.flops.formulas import FORMULAS, work_of
from tb_hookview.analysis.host.activity import Input
from tb_hookview.loading import analyze, load

Step = Callable[[], torch.Tensor]


class Attention(nn.Module):
    """Attention of torch's own, with projections."""

    def __init__(self, backend: SDPBackend) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(32, 96), nn.Linear(32, 32, bias=False)
        self.backend = backend

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Shape (batch, positions, 32)."""
        parts = self.project(tokens).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
        with sdpa_kernel(self.backend):
            found = functional.scaled_dot_product_attention(*parts, is_causal=True)
        result: torch.Tensor = self.out(found.transpose(1, 2).flatten(2))
        return result


def trained(model: nn.Module, *shape: int) -> Step:
    given = torch.randn(*shape, requires_grad=True)

    def step() -> torch.Tensor:
        result: torch.Tensor = model(given).square().mean()
        return result

    return step


class Products(nn.Module):
    """Products of every kind that has a formula, some by einsum."""

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """From shape (3, 5, 7)."""
        batched = torch.baddbmm(torch.ones(3, 5, 2), given, torch.ones(3, 7, 2))
        plain = torch.addmm(torch.ones(2), given[0], torch.ones(7, 2))
        return batched + plain + torch.einsum("bij,jk->bik", given, torch.ones(7, 2))


MODELS: dict[str, Callable[[], Step]] = {
    "perceptron": lambda: trained(
        nn.Sequential(nn.Linear(12, 40), nn.GELU(), nn.Linear(40, 5)), 6, 3, 12
    ),
    "products": lambda: trained(Products(), 3, 5, 7),
    "convolutions": lambda: trained(
        nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, (3, 1), dilation=2, padding="same"),
            nn.Flatten(2),
            nn.Conv1d(16, 4, 5),
        ),
        2, 3, 16, 16,
    ),
    "transposed": lambda: trained(
        nn.Sequential(
            nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1), nn.ConvTranspose2d(6, 2, 2)
        ),
        2, 4, 5, 6,
    ),
    "volumes": lambda: trained(nn.Conv3d(2, 3, 2, stride=(1, 2, 1)), 2, 2, 4, 5, 6),
    "attention, flash": lambda: trained(Attention(SDPBackend.FLASH_ATTENTION), 2, 9, 32),
    "attention, math": lambda: trained(Attention(SDPBackend.MATH), 2, 9, 32),
    "transformer": lambda: trained(
        nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), 2, 9, 32
    ),
}  # fmt: skip


def both(step: Step, folder: Path) -> tuple[int, float]:
    """FLOPs of forward and backward: torch's count, and ours of a recording."""
    with FlopCounterMode(display=False) as counter:
        step().backward()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        step().backward()
    profiler.export_chrome_trace(str(folder / "trace.json"))
    work = load(folder / "trace.json").call_work
    return counter.get_total_flops(), float(np.sum(work.flops[work.outermost]))


@pytest.mark.parametrize("name", MODELS)
def test_forward_and_backward_of_a_model(name: str, tmp_path: Path) -> None:
    """`flop_counter` has no entry for the CPU's flash attention; its formula is asked for that."""
    theirs, ours = both(MODELS[name](), tmp_path)
    if name in ("attention, flash", "transformer"):
        query = (2, 4, 9, 8)
        theirs += sdpa_flop_count(query, query, query)
        theirs += sdpa_backward_flop_count(query, query, query, query)
    assert ours == theirs > 0


@pytest.mark.parametrize(("result", "size"), [(torch.bfloat16, 2), (torch.float32, 4), (None, 1)])
def test_a_product_of_8_bits_writes_its_own_type(
    result: torch.dtype | None, size: int, tmp_path: Path
) -> None:
    left, right = (torch.ones(16, 32).to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.tensor(1.0)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        torch._scaled_mm(left, right.t(), one, one, out_dtype=result)
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    work = load(tmp_path / "trace.json").call_work
    assert work.flops[work.outermost].tolist() == [2 * 16 * 32 * 16]
    assert work.bytes[work.outermost].tolist() == [2 * 16 * 32 + size * 16 * 16]


OFFSETS = torch.tensor([16, 48], dtype=torch.int32)


@pytest.mark.parametrize(
    ("left", "right", "flops", "result"),
    [
        ((48, 32), (2, 32, 8), 48 * 32 * 8, 48 * 8),
        ((2, 16, 32), (32, 48), 16 * 32 * 48, 16 * 48),
        ((16, 48), (48, 8), 16 * 48 * 8, 2 * 16 * 8),
        ((2, 16, 32), (2, 32, 8), 2 * 16 * 32 * 8, 2 * 16 * 8),
    ],
    ids=["groups of rows", "of columns", "of what is summed", "a batch"],
)
def test_grouped_products(
    left: tuple[int, ...], right: tuple[int, ...], flops: int, result: int, tmp_path: Path
) -> None:
    given = [torch.ones(left, dtype=torch.bfloat16), torch.ones(right, dtype=torch.bfloat16)]
    offsets = None if len(left) == len(right) == 3 else OFFSETS
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        out = torch._grouped_mm(given[0], given[1].mT.contiguous().mT, offs=offsets)
    assert out.numel() == result
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    work = load(tmp_path / "trace.json").call_work
    assert work.flops[work.outermost].tolist() == [2 * flops]
    read = 2 * sum(each.numel() for each in given) + (0 if offsets is None else 8)
    assert work.bytes[work.outermost].tolist() == [read + 2 * result]


def scaled(*shapes: list[int]) -> list[Input]:
    types = ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "int"]
    tensors = [Input(shape, kind, "") for shape, kind in zip(shapes, types, strict=True)]
    return [*tensors, Input([], "", ""), Input([], "", ""), Input([], "Scalar", "15")]


def test_a_grouped_product_of_8_bits_writes_its_own_type() -> None:
    work = work_of("aten::_scaled_grouped_mm", scaled([48, 32], [2, 32, 8], [48], [2, 8], [2]))
    assert work == (2 * 48 * 32 * 8, 48 * 8, "c10::BFloat16")
    assert (
        work_of("aten::_scaled_grouped_mm", scaled([48, 32], [2, 16, 8], [48], [2, 8], [2])) is None
    )


@pytest.mark.parametrize(("name", "biased"), [("cudnn", False), ("miopen", True)])
def test_a_librarys_own_transposed_convolution(name: str, biased: bool) -> None:
    """As `aten::convolution` counts it."""
    tensors = [Input([2, 8, 5, 5], "float", ""), Input([8, 3, 2, 2], "float", "")]
    bias = [Input([], "", "")]
    padding, extra, stride, dilation = (
        Input([], "ScalarList", value) for value in ("[0, 0]", "[1, 1]", "[2, 2]", "[1, 1]")
    )
    flags = [Input([], "Scalar", value) for value in ("2", "False", "False")]
    own = [*tensors, *(bias if biased else []), padding, extra, stride, dilation, *flags]
    whole = [
        *tensors,
        *bias,
        stride,
        padding,
        dilation,
        Input([], "Scalar", "True"),
        extra,
        flags[0],
    ]
    found = work_of(f"aten::{name}_convolution_transpose", own)
    assert found is not None
    assert found == work_of("aten::convolution", whole)


def test_a_grouped_convolution_counts_each_weight_once(tmp_path: Path) -> None:
    """`flop_counter` has the gradient of a grouped weight as often as there are groups."""
    groups, weight, positions = 4, 16 * 2 * 9, 6 * 6
    theirs, ours = both(trained(nn.Conv2d(8, 16, 3, groups=groups), 2, 8, 8, 8), tmp_path)
    once = 2 * 2 * weight * positions
    assert ours == 3 * once
    assert theirs == (2 + groups) * once


def test_the_rows_of_a_step_sum_to_its_flops(tmp_path: Path) -> None:
    """By name the outermost count once; rows of operators around them hold the same."""
    _, ours = both(MODELS["perceptron"](), tmp_path)
    rows = {row.name: row for row in analyze(tmp_path / "trace.json").operators}
    assert rows["aten::linear"].flops == rows["aten::addmm"].flops
    assert (rows["aten::linear"].flops or 0) + (rows["aten::mm"].flops or 0) == ours
    nodes = rows["autograd::engine::evaluate_function: AddmmBackward0"]
    assert nodes.flops == rows["aten::mm"].flops
    assert rows["aten::gelu"].flops is None
    for row in rows.values():
        if row.flops:
            assert row.tflop_per_s == pytest.approx(row.flops / (row.flops_us or 0) / 1e6)
            assert row.peak_share is None, "no device, no peak"


def inputs(*shapes: list[object]) -> list[Input]:
    return [Input(shape, "float", "") for shape in shapes]


@pytest.mark.parametrize("name", FORMULAS)
def test_inputs_that_do_not_fit_give_no_number(name: str) -> None:
    odd = (
        [],
        inputs([]),
        inputs([2, 3]),
        inputs([2, "x"], [3, 4]),
        inputs(*[[2, 3], [4, 5]] * 6),
        inputs(*[[2, 3, 4, 5]] * 2, *[[7, 1, 4, 6]] * 9),
        inputs(*[[[1], [2]]] * 12),
    )
    for given in odd:
        assert work_of(name, list(given)) is None
    assert work_of("aten::add", inputs([2, 3], [2, 3])) is None
