"""Rules about blocks of memory on recordings of loops with and without a fault."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from rules.diagnosed import Diagnosed, diagnosed
from support.memory_models import made

import tb_hookview as hookview

pytestmark = pytest.mark.filterwarnings("ignore")


def findings(folder: Path, fault: str) -> Diagnosed:
    model, optimizer, batch = made("mlp")
    hookview.wrap(model)
    losses: list[torch.Tensor] = []
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=5, repeat=1)
    with hookview.profile(folder, profile_memory=True, schedule=schedule) as profiler:
        for _ in range(6):
            loss = model(batch()).pow(2).mean()
            if fault == "late":
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if fault != "late":
                optimizer.zero_grad()
            if fault == "graph kept":
                losses.append(model(batch()).pow(2).mean())
            profiler.step()
            del loss
    (path,) = folder.glob("*.gz")
    return diagnosed(path)


def test_a_loop_that_keeps_graphs_grows(tmp_path: Path) -> None:
    found = findings(tmp_path, "graph kept")
    assert (found["memory-growth"][0].module or "").startswith("blocks.")
    assert "gradients-kept" not in found


def test_a_loop_that_frees_gradients_late_keeps_them(tmp_path: Path) -> None:
    found = findings(tmp_path, "late")
    assert "right after optimizer.step()" in found["gradients-kept"][0].fix
    assert "memory-growth" not in found


def test_a_loop_without_a_fault_has_neither(tmp_path: Path) -> None:
    assert not {"memory-growth", "gradients-kept"} & findings(tmp_path, "").rules
