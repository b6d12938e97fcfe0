"""Replayed CUDA graphs of a GPU next to the same kernels launched one by one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load

GPU = Path(__file__).resolve().parents[3] / "sample_traces" / "gpu"


def opened(name: str) -> Analysis:
    folder = GPU / name
    if not folder.is_dir():
        pytest.skip(f"needs the recording {name} in sample_traces/gpu")
    return load(next(folder.glob("*.pt.trace.json.gz")))


def kernels(analysis: Analysis) -> list[tuple[str, str | None]]:
    """Names of the kernels of each graph's calls, in order, with the module; None for the region's.

    Copies of inputs and random state are left out: only a replay has them.
    """
    assert analysis.compiled is not None
    placement, events = analysis.compiled.placement, analysis.device_events
    graph = np.zeros(len(analysis.host), bool)
    graph[placement.calls.row] = True
    found = []
    inside = analysis.call_tree.inside(graph)
    for each in np.flatnonzero(events.launch >= 0).tolist():
        launch = int(events.launch[each])
        name = analysis.trace.strings[int(analysis.trace.events.name[events.event[each]])]
        parent = analysis.host.name(int(analysis.call_tree.parent[launch]))
        if not inside[launch] or parent in COPIES:
            continue
        module = int(analysis.device_attribution.module[each])
        placed = int(placement.event_call[each]) >= 0
        found.append((name, analysis.modules.path[module] if placed else None))
    return found


COPIES = ("aten::_foreach_copy_", "aten::fill_")


@pytest.mark.parametrize("model", ["vit", "gpt2"])
def test_a_replay_is_placed_as_the_same_kernels_launched_one_by_one(model: str) -> None:
    one_by_one = kernels(opened(f"compiled.{model}.default"))
    replayed = kernels(opened(f"compiled.{model}.reduce-overhead"))
    assert [name for name, _ in one_by_one] == [name for name, _ in replayed]
    pairs = [(mine, true) for (_, mine), (_, true) in zip(replayed, one_by_one, strict=True)]
    assert [pair for pair in pairs if pair[0] not in (None, pair[1])] == []
    unknown = Counter(mine is None for mine, _ in pairs)
    assert unknown[True] < 0.05 * len(pairs)
