"""What people found with a GPU and wrote in public: each found here at its line, with its remedy.

Patterns of the code that a statement is about; `source` is the issue or pull request on GitHub.
"""

# ruff: noqa: ARG005  # a table of calls
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from tb_hookview.dryrun import DryRun


class Statement(NamedTuple):
    source: str
    cause: str
    syncs: int
    code: Callable[[dict[str, Any]], object]
    remedy: Callable[[dict[str, Any]], object] | None = None


def tensors() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(6, 4, device="cuda")
    return {
        "x": x,
        "row": x[0],
        "mask": x[:, 0] > 0,
        "host_mask": torch.tensor([True, False, True, True, False, True]),
        "repeats": torch.tensor([2, 1, 0, 3, 1, 1], device="cuda"),
        "ids": torch.tensor([3, 1, 3, 2], device="cuda"),
        "loss": x.square().mean(),
        "host": torch.randn(6, 4),
        "pinned": torch.randn(6, 4).pin_memory(),
        "lengths": torch.tensor([4, 2]),
        "read": torch.empty((), pin_memory=True),
    }


def microbatches(t: dict[str, Any], read: Callable[[torch.Tensor], Any]) -> Any:
    total = 0.0
    for part in t["x"].chunk(3):
        total = total + read(part.sum())
    return total


def giou(t: dict[str, Any]) -> torch.Tensor:
    area = torch.zeros_like(t["x"])
    overlap = t["x"] > 0
    area[overlap] = t["x"][overlap] * 2
    return area


def put(t: dict[str, Any], key: str, value: Any) -> None:
    t["x"][t[key]] = value


ITEM, MASK, SIZE = "sync-scalar-item", "sync-mask-index", "sync-data-dependent-size"
MOVE, READ = "create-on-cpu-then-move", "sync-d2h-copy"
PAGEABLE = "h2d-pageable-blocking"
STATEMENTS = (
    Statement(
        "pytorch/pytorch#108968, repeats on the device", SIZE, 2,
        lambda t: t["x"].repeat_interleave(t["repeats"], 0),
        lambda t: t["x"].repeat_interleave(t["repeats"], 0, output_size=8),
    ),
    Statement(
        "pytorch/pytorch#108968, normal", "sync-in-operator", 2,
        lambda t: torch.normal(0.0, t["x"].abs()),
        lambda t: torch.randn_like(t["x"]) * t["x"].abs(),
    ),
    Statement(
        "pytorch/pytorch#12461", MASK, 1,
        lambda t: t["x"][t["mask"]],
        lambda t: torch.where(t["mask"][:, None], t["x"], 0.0),
    ),
    Statement(
        "pytorch/pytorch#156384", MASK, 1,
        lambda t: put(t, "mask", t["row"]),
        lambda t: put(t, "host_mask", t["row"]),
    ),
    Statement(
        "pytorch/pytorch#57515", MASK, 1,
        lambda t: put(t, "mask", t["x"][:1]),
        lambda t: t["x"].masked_fill_(t["mask"][:, None], 0.0),
    ),
    Statement(
        "pytorch/pytorch#131256", "sync-nonzero-variable-shape", 1,
        lambda t: t["mask"].nonzero(),
        lambda t: torch.nonzero_static(t["mask"], size=3),
    ),
    Statement(
        "pytorch/pytorch#107132", SIZE, 1,
        lambda t: torch.unique(t["ids"], return_inverse=True),
    ),
    Statement(
        "pytorch/pytorch#151722", SIZE, 1, lambda t: torch.unique_consecutive(t["ids"])
    ),
    Statement(
        "pytorch/pytorch#96626", SIZE, 2,
        lambda t: torch.bincount(t["ids"]),
        lambda t: torch.zeros(4, device="cuda").index_add_(0, t["ids"], torch.ones_like(t["row"])),
    ),
    Statement(
        "sgl-project/sglang#32575", PAGEABLE, 1,
        lambda t: torch.tensor([-1], device="cuda"),
        lambda t: torch.full((1,), -1, device="cuda"),
    ),
    Statement(
        "sgl-project/sglang#35106", PAGEABLE, 1,
        lambda t: torch.tensor([3, 5], dtype=torch.int32, device="cuda"),
        lambda t: torch.tensor([3, 5]).pin_memory().to("cuda", non_blocking=True),
    ),
    Statement(
        "NVIDIA/TensorRT-LLM#16680", PAGEABLE, 1,
        lambda t: t["lengths"].to(device="cuda", dtype=torch.long),
        lambda t: t["ids"].to(device="cuda", dtype=torch.long),
    ),
    Statement(
        "pytorch/vision#9518", MASK, 2, giou, lambda t: (t["x"] * 2).clamp(min=0)
    ),
    Statement(
        "pytorch/torchtitan#2440", ITEM, 1, lambda t: int(t["repeats"].cumsum(0)[-1])
    ),
    Statement(
        "pytorch/torchtitan#3274", SIZE, 2,
        lambda t: torch.arange(6, device="cuda").repeat_interleave(t["repeats"]),
        lambda t: torch.arange(6, device="cuda").repeat_interleave(t["repeats"], output_size=8),
    ),
    Statement(
        "vllm-project/vllm#1599", SIZE, 2,
        lambda t: torch.repeat_interleave(t["repeats"]),
        lambda t: t["row"][:, None].expand(4, 3).reshape(-1),
    ),
    Statement(
        "Nerogar/OneTrainer#1608, statistics on the host", PAGEABLE, 1,
        lambda t: t["x"] - t["host"].to("cuda"),
        lambda t: t["x"] - t["x"].mean(0),
    ),
    Statement(
        "Nerogar/OneTrainer#1608, loss", ITEM, 1,
        lambda t: t["loss"].item(),
        lambda t: t["read"].copy_(t["loss"], non_blocking=True),
    ),
    Statement(
        "openvdb/fvdb-reality-capture#144", ITEM, 2,
        lambda t: (t["loss"].item(), t["loss"].item()),
        lambda t: t["loss"].detach(),
    ),
    Statement(
        "hao-ai-lab/FastVideo#1217, transfers", PAGEABLE, 2,
        lambda t: (t["host"].to("cuda"), t["host"].to("cuda")),
        lambda t: t["pinned"].to("cuda", non_blocking=True),
    ),
    Statement(
        "hao-ai-lab/FastVideo#1217, accumulation", ITEM, 3,
        lambda t: microbatches(t, lambda loss: loss.item()),
        lambda t: microbatches(t, lambda loss: loss),
    ),
    Statement(
        "facebookresearch/ConvNeXt#106", "sync-explicit", 1, lambda t: torch.cuda.synchronize()
    ),
    Statement(
        "soran-ghaderi/torchebm#239, order", READ, 1,
        lambda t: t["row"].argsort().tolist(),
        lambda t: t["row"].argsort(),
    ),
    Statement(
        "Lightning-AI/pytorch-lightning#1254", ITEM, 1,
        lambda t: t["loss"].mean().item(),
        lambda t: t["loss"].mean(),
    ),
    Statement(
        "allenai/OLMo-core#68", PAGEABLE, 1,
        lambda t: torch.tensor(0.0).to("cuda"),
        lambda t: torch.zeros((), device="cuda"),
    ),
    Statement(
        "rosinality/style-based-gan-pytorch#50", ITEM, 1, lambda t: float(t["loss"])
    ),
)  # fmt: skip
SETTLED: dict[str, Callable[[dict[str, Any]], object]] = {
    "pytorch/pytorch#108968, multinomial": lambda t: t["x"].softmax(1).multinomial(1),
    "pytorch/pytorch#60965": lambda t: t["x"].repeat_interleave(2, 0, output_size=12),
    "huggingface/diffusers#11030": lambda t: t["x"].repeat_interleave(2, 1, output_size=8),
}
"""Statements about syncs that are gone since."""


def test_there_are_enough_of_them() -> None:
    assert len(STATEMENTS) >= 25


def test_a_public_statement_is_found_at_its_line(run: DryRun) -> None:
    wrong = {}
    for statement in STATEMENTS:
        t = tensors()
        run.step()
        first = run.recorder.step
        statement.code(t)
        run.step()
        if statement.remedy is not None:
            statement.remedy(t)
        found = [each for each in run.syncs if each.certain and each.step >= first]
        mine = [each for each in found if each.step == first]
        says = (sum(each.count for each in mine), {each.cause for each in mine}, len(found))
        lines = {each.file for each in mine}
        if says != (statement.syncs, {statement.cause}, len(mine)) or lines != {__file__}:
            wrong[statement.source] = (says, lines)
    assert wrong == {}


def test_syncs_that_are_gone_since_are_not_found(run: DryRun) -> None:
    t = tensors()
    run.step()
    for call in SETTLED.values():
        call(t)
    run.step()
    run.check(warmup=1)
