"""Pictures of the threads that autograd has for devices."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview.analysis.autograd.nodes import of_device_threads
from tb_hookview.loading import load

NODES = 20


@pytest.mark.parametrize(
    ("thread", "beside", "count"), [("auto", 1, NODES), ("auto", 2, 0), ("main", 0, 0)]
)
def test_a_thread_that_runs_hardly_anything_but_nodes_is_a_devices(
    tmp_path: Path, thread: str, beside: int, count: int
) -> None:
    """One operator may be left of a node that a cut took; more are work of another kind."""
    numbers = range(10, 10 + NODES)
    forward = "".join(f"[mm seq={number}]" for number in numbers)
    nodes = "".join(f"[node seq={number} F=1]" for number in numbers)
    picture = f"""
        main ops {forward}
        {thread} ops {" " * len(forward)}{"[aten::t]" * beside}{nodes}
        """
    names = {"mm": "aten::mm", "node": "autograd::engine::evaluate_function: MmBackward0"}
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    assert of_device_threads(analysis.host, analysis.nodes) == count
