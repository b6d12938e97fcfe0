"""Which ranks record: two processes (gloo, on the CPU), chosen by `ranks` and `rank0_only`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.ranks import run_ranks

pytestmark = pytest.mark.slow

WORKER = """
import json, sys
from pathlib import Path
import torch
import torch.distributed as dist
from torch.autograd import profiler as autograd_profiler
import tb_hookview as hookview
from support.recording import hooks_below

folder, rank = Path(sys.argv[1]), int(sys.argv[2])
model = hookview.wrap(torch.nn.Sequential(torch.nn.Linear(4, 4)))
CASES = {"all": {}, "second": {"ranks": iter([1])}, "first": {"rank0_only": True}}


def join():
    if not dist.is_initialized():
        meeting = f"file://{folder / 'meeting'}"
        dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)


def record(name, options):
    ready, recording, attached = [], [], []
    schedule = torch.profiler.schedule(skip_first=1, wait=1, warmup=1, active=1, repeat=2)
    with hookview.profile(
        folder / name, schedule=schedule, on_trace_ready=ready.append, **options
    ) as profiler:
        join()
        for _ in range(8):
            model(torch.ones(1, 4)).sum().backward()
            recording.append(autograd_profiler._is_profiler_enabled)
            attached.append(len(hooks_below(model)) > 1)
            profiler.step()
    return {
        "ready": len(ready),
        "is torch's": isinstance(profiler, torch.profiler.profile),
        "steps": profiler.step_num,
        "recording": sum(recording),
        "attached": sum(attached),
    }


print(json.dumps({name: record(name, options) for name, options in CASES.items()}))
dist.destroy_process_group()
"""

Answers = list[dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def answers(folder: Path) -> Answers:
    """What each rank says; the process group is made when the profiler has been entered."""
    paths = os.pathsep.join(map(str, (Path(__file__).parents[1], Path(__file__).parents[2])))
    said = run_ranks(["-c", WORKER, folder], folder, launched=False, PYTHONPATH=paths)
    return [json.loads(out.splitlines()[-1]) for out in said]


@pytest.mark.parametrize(("case", "ranks"), [("all", {0, 1}), ("second", {1}), ("first", {0})])
def test_only_the_chosen_ranks_record(
    answers: Answers, folder: Path, case: str, ranks: set[int]
) -> None:
    for rank, answer in enumerate(answers):
        cycles = 2 if rank in ranks else 0
        assert answer[case] == {
            "ready": cycles,
            "is torch's": True,
            "steps": 8,
            "recording": cycles,
            "attached": cycles,
        }
    written = sorted(path.name for path in folder.joinpath(case).glob("*"))
    two_each = [f"rank{rank}" for rank in sorted(ranks) for _ in range(2)]
    assert [name.partition("_")[0] for name in written] == two_each
