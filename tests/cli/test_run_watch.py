"""`hookview run --watch`: a real script in a process of its own, watched from end to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import os, sys
os.environ["OMP_NUM_THREADS"] = "1"
import hashlib, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(torch.randn(40, 4)), batch_size=2):
    optimizer.zero_grad()
    net(x).square().sum().backward()
    optimizer.step()
weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
print(sys.argv[1:], hashlib.sha256(weights).hexdigest())
raise ValueError("of the script")
"""


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def steps_in(folder: Path) -> list[dict[str, Any]]:
    (file,) = folder.glob("*.steps.jsonl")
    header, *rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert header["watch"] == 1
    return [row for row in rows if "step" in row]


def test_a_script_is_watched_and_does_what_it_does_without_us(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    arguments = ("train.py", "--lr", "-m", "--", "x")
    plain = python(tmp_path, *arguments)
    watched = python(tmp_path, "-m", "tb_hookview.cli", "run", "--watch", *arguments)
    assert plain.stdout.startswith("['--lr', '-m', '--', 'x']")
    assert (watched.returncode, watched.stdout) == (1, plain.stdout)
    ours = ("hookview: ", "USDT:")  # the second is torch's own, wherever it profiles
    others = [line for line in watched.stderr.splitlines() if not line.startswith(ours)]
    assert others == plain.stderr.splitlines()
    rows = steps_in(tmp_path / "runs" / "train")
    assert [row["step"] for row in rows] == list(range(1, 20))  # the first shows the model
    assert all(row["forward_us"] > 0 < row["backward_us"] for row in rows)
    assert "hookview history runs/train" in watched.stderr
