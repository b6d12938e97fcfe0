"""Module, node, line and cause of syncs."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tb_hookview.dryrun import DryRun


class Masked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x[:, 0] > -9]


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), Masked()) for _ in range(2)])

    def forward(self, x: torch.Tensor, *, again: bool = False) -> torch.Tensor:
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if again else block(x)
        return x


def found(run: DryRun) -> list[tuple[str, str | None, str | None]]:
    return [(sync.phase, sync.node, sync.module) for sync in run.syncs]


def test_forward_and_backward_are_of_the_module_that_was_called(run: DryRun) -> None:
    model, x = Deep().cuda(), torch.randn(3, 4, device="cuda")
    run.step()
    model(x).sum().backward()
    assert [row for row in found(run) if row[0] != "other"] == [
        ("forward", None, "blocks.0.1"),
        ("forward", None, "blocks.1.1"),
        ("backward", "IndexBackward0", "blocks.1.1"),
        ("backward", "IndexBackward0", "blocks.0.1"),
    ]


def test_a_forward_that_runs_again_in_backward_is_of_its_module(run: DryRun) -> None:
    block = nn.Sequential(Masked(), nn.Linear(4, 4)).to("cuda")
    x = torch.randn(3, 4, device="cuda", requires_grad=True)
    before = len(run.syncs)
    checkpoint(block, x, use_reentrant=True).sum().backward()
    assert found(run)[before:] == [
        ("forward", None, "0"),
        ("backward", "CheckpointFunctionBackward", "0"),
        ("backward", "IndexBackward0", "0"),
    ]


def test_a_function_of_ones_own_shows_its_line(run: DryRun) -> None:
    class Reads(torch.autograd.Function):
        @staticmethod
        def forward(_ctx: object, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(_ctx: object, grad: torch.Tensor) -> torch.Tensor:
            return grad * grad.sum().item()

    x = torch.randn(3, device="cuda", requires_grad=True)
    Reads.apply(x).sum().backward()
    (sync,) = run.syncs
    assert (sync.phase, sync.node, sync.code) == (
        "backward",
        "ReadsBackward",
        "return grad * grad.sum().item()",
    )


def test_the_forward_line_of_a_view_changed_in_place(run: DryRun) -> None:
    x = torch.randn(3, 4, device="cuda", requires_grad=True)
    y = x * 1
    mask = y[:, 0] > -9
    y[mask] = torch.ones(4, device="cuda")
    z = y * 2
    z.sum().backward()
    backward = [sync for sync in run.syncs if sync.phase == "backward"]
    assert all(sync.forward_code == 'y[mask] = torch.ones(4, device="cuda")' for sync in backward)


CAUSES = {
    "sync-scalar-item": lambda t: t.sum().item(),
    "sync-bool-branch": lambda t: 1 if t.sum() > 0 else 2,
    "sync-host-index-or-slice": lambda t: t[: t.argmax()],
    "sync-mask-index": lambda t: t[t > 0],
    "sync-nonzero-variable-shape": lambda t: t.nonzero(),
    "sync-data-dependent-size": lambda t: t.unique(),
    "sync-d2h-copy": lambda t: t.cpu(),
    "sync-explicit": lambda _: torch.cuda.synchronize(),
    "h2d-pageable-blocking": lambda t: t.new_tensor([1.0]),
    "h2d-pinned-but-blocking": lambda _: torch.ones(2).pin_memory().cuda(),
    "h2d-nonblocking-unpinned": lambda _: torch.ones(2).to("cuda", non_blocking=True),
    "sync-in-operator": lambda t: torch.equal(t, t + 1),
    "sync-grad-clip": lambda t: nn.utils.clip_grad_norm_(
        [gradient(t)], 1.0, error_if_nonfinite=True
    ),
}


def gradient(t: torch.Tensor) -> torch.Tensor:
    parameter = nn.Parameter(t)
    parameter.grad = torch.ones_like(t)
    return parameter


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_is_a_rule_of_recordings(cause: str, run: DryRun) -> None:
    t = torch.randn(4, device="cuda")
    CAUSES[cause](t)
    (sync,) = run.syncs
    assert sync.cause == cause
    assert sync.fix
    assert sync.title != sync.cause


def test_a_constant_made_in_a_module_is_told_from_a_batch(run: DryRun) -> None:
    class Constant(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * torch.tensor([2.0], device=x.device)

    Constant()(torch.ones(2, device="cuda"))
    (sync,) = run.syncs
    assert (sync.cause, sync.phase) == ("create-on-cpu-then-move", "forward")


def test_the_closure_of_a_step_is_no_part_of_the_update(run: DryRun) -> None:
    class Own(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure: object = None) -> object:  # type: ignore[override]
            loss = super().step(closure)  # type: ignore[arg-type]
            self.param_groups[0]["params"][0].sum().item()
            return loss

    model = nn.Linear(2, 1).cuda()
    optimizer, x = Own(model.parameters(), 0.1), torch.ones(3, 2, device="cuda")

    def closure() -> torch.Tensor:
        loss = model(x).sum()
        loss.backward()
        loss.item()
        return loss

    optimizer.step(partial(closure))
    read = [(sync.phase, sync.cause) for sync in run.syncs if sync.operator.endswith("dense")]
    assert read == [("other", "sync-scalar-item"), ("optimizer", "sync-optimizer-scalar-state")]


def test_activations_kept_on_the_host_are_copies_and_not_constants(run: DryRun) -> None:
    x = torch.randn(3, device="cuda", requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = x.exp()
    y.sum().backward()
    assert [(sync.phase, sync.cause) for sync in run.syncs] == [
        ("other", "sync-d2h-copy"),
        ("backward", "h2d-pageable-blocking"),
    ]
    assert all("autograd/graph.py" in (sync.via or "") for sync in run.syncs)


def test_what_an_optimizer_reads_is_its_own_under_a_gradient_scaler(run: DryRun) -> None:
    class Own(torch.optim.SGD):
        def step(self, _closure: object = None) -> None:  # type: ignore[override]
            self.param_groups[0]["params"][0].sum().item()

    model = nn.Linear(2, 1).cuda()
    optimizer, scaler = Own(model.parameters(), 0.1), torch.amp.GradScaler("cuda")
    scaler.scale(model(torch.ones(3, 2, device="cuda")).sum()).backward()
    scaler.step(optimizer)
    reads = [sync.cause for sync in run.syncs if sync.operator.endswith("dense")]
    assert reads == ["sync-grad-scaler", "sync-optimizer-scalar-state"]


def test_a_full_backward_hook_has_no_line_of_the_forward(run: DryRun) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).cuda()
    model[0].register_full_backward_hook(lambda _m, _i, out: out[0].sum().item() and None)
    x = torch.ones(3, 2, device="cuda", requires_grad=True) * 1
    model(x).sum().backward()
    (sync,) = (each for each in run.syncs if each.cause == "sync-scalar-item")
    assert sync.node == "BackwardHookFunctionBackward"
    assert sync.forward_code is None
