"""The documented loop for Accelerate, which needs no callback."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from support.attribution import nodes_of_nobody
from support.recording import hooks_below, only_trace, only_trace_path
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

pytest.importorskip("accelerate", reason="needs accelerate: make setup")


def test_the_documented_code_runs(run_documented):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    data = TensorDataset(torch.randn(14, 8), torch.randint(4, (14,)))
    run_documented(
        "Accelerate",
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        loader=DataLoader(data, batch_size=2),
    )
    assert hooks_below(model) == []
    trace = only_trace(Path("runs/accelerate"))
    assert trace.paths("forward") == dict.fromkeys(["", "0", "1", "2", "loss"], 3)
    # Accelerate divides the loss by the number of batches whose gradients are accumulated, here 1.
    assert nodes_of_nobody(only_trace_path(Path("runs/accelerate"))) == {"DivBackward0": 3}
