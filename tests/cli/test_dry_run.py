"""The command, in processes of its own: it changes torch, and ends scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.forked_python import Done, run_python

SCRIPT = """
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        h = self.inner(x)
        return h[
            h[:, 0] > -9
        ]

assert torch.cuda.is_available()
net = Net().to("cuda")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batch = torch.randn(3, 4, device="cuda")
for step in range(int(sys.argv[1])):
    loss = net(batch).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
print("the end")
"""


def run(folder: Path, *arguments: str, script: str = SCRIPT) -> Done[str]:
    (folder / "train.py").write_text(script)
    command = [sys.executable, "-m", "tb_hookview.cli", "dry-run", *arguments]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)


def forked(folder: Path, *arguments: str, script: str = SCRIPT) -> Done[str]:
    """Run it where torch is there already, so that the script's import of it takes no time."""
    (folder / "train.py").write_text(script)
    program = "from tb_hookview.cli import main; main()"
    return run_python("-c", program, "dry-run", *arguments, cwd=folder)


def test_json_is_all_of_standard_output(tmp_path: Path) -> None:
    done = run(tmp_path, "--steps", "3", "--json", "train.py", "9")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["steps"] == 3
    assert report["program"] == "train.py"
    assert "loss" in done.stderr
    assert "the end" not in done.stderr
    rows = [sync for sync in report["syncs"] if sync["step"] == 1]
    assert [(r["phase"], r["operator"], r["node"], r["module"], r["line"]) for r in rows] == [
        ("other", "aten::_local_scalar_dense", None, None, "train.py:26"),
        ("forward", "aten::nonzero", None, "", "train.py:13"),
        ("backward", "aten::_index_put_impl_", "IndexBackward0", "", "train.py:23"),
    ]
    assert rows[1]["code"] == "return h[h[:, 0] > -9]"
    assert rows[2]["forward_line"] == "train.py:13"
    assert rows[1]["stack"] == ["train.py(13): forward", "train.py(22): <module>"]
    assert [row["cause"] for row in rows] == [
        *("sync-scalar-item", "sync-mask-index", "sync-mask-index"),
    ]


@pytest.mark.slow
def test_limits_and_allowed_syncs_decide_the_exit_code(tmp_path: Path) -> None:
    allowed = tmp_path / "syncs.txt"
    allowed.write_text("# known\nloss.item()  # logged\nh[:, 0] > -9  # ragged batches\n")
    within = forked(tmp_path, "--max-syncs", "0", "--allow", str(allowed), "train.py", "3")
    assert within.returncode == 0, within.stderr
    assert "allowed: ragged batches" in within.stdout
    allowed.write_text("loss.item()  # logged\nold.py:3  # was needed once\n")
    unused = forked(tmp_path, "--allow", str(allowed), "train.py", "3")
    assert unused.returncode == 1
    assert "no sync matches 'old.py:3' any more" in unused.stderr
    assert "train.py:13" in unused.stdout
    assert "the end" in unused.stdout
    allowed.write_text("loss.item()\n")
    unexplained = run(tmp_path, "--allow", str(allowed), "train.py", "3")
    assert unexplained.returncode == 2
    assert "syncs.txt:1: no reason" in unexplained.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import torch\nraise SystemExit(3)\n", "train.py: exited with 3; nothing was checked"),
        ("import torch\n1 / 0\n", "train.py: failed with ZeroDivisionError; nothing was checked"),
    ],
)
def test_a_script_that_fails_checks_nothing(tmp_path: Path, script: str, message: str) -> None:
    done = forked(tmp_path, "train.py", script=script)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"hookview: {message}"
    assert "tb_hookview" not in done.stderr


def test_a_script_without_torch_is_told_in_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "train.py", script="print(1)\n")
    assert (done.returncode, done.stdout) == (2, "1\n")
    assert done.stderr == "hookview: train.py: did not import torch; nothing was checked\n"


def test_a_script_that_is_not_there_is_refused_in_a_line(tmp_path: Path) -> None:
    done = run(tmp_path, "gone.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hookview: gone.py: No such file")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_without_an_optimizer_everything_is_one_step(tmp_path: Path) -> None:
    script = "import torch\nx = torch.ones(2, device='cuda')\nprint(x.sum().item())\n"
    done = forked(tmp_path, "--max-syncs", "0", "train.py", script=script)
    assert done.returncode == 1
    assert "a step has 1 syncs, and the limit is 0" in done.stderr
    assert "no step of an optimizer; with a GPU the host would wait once" in done.stdout


@pytest.mark.slow
def test_a_script_that_catches_every_exception_ends_after_its_steps(tmp_path: Path) -> None:
    script = """import torch
weight = torch.ones(2, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight])
while True:
    try:
        weight.sum().backward()
        optimizer.step()
        weight.sum().item()
    except:
        print("caught")
"""
    done = forked(tmp_path, "--json", "--max-syncs", "0", "train.py", script=script)
    report = json.loads(done.stdout)
    assert (done.returncode, report["steps"], report["sync_count"]) == (1, 4, 3)
    assert done.stderr.count("caught") == 1
    assert "caught the exception" in report["notes"][0]
