"""Classes and modules of blocks, against trackers of PyTorch's and of our own that use no trace."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
import torch
from support.memory_models import CASES, made, recorded, train
from support.storages import Storages
from torch.distributed._tools.mem_tracker import MemTracker

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.memory.live import MemoryClass
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.schema.terms import Phase

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.parametrize("case", CASES),
]

BY_MODEL = {
    "Activation": (MemoryClass.ACTIVATION, MemoryClass.RECOMPUTED, MemoryClass.INPUT),
    "Optstate": (MemoryClass.OPTIMIZER_STATE,),
    # To MemTracker a gradient is temporary until it is accumulated; here it is one from the start.
    "Gradient + Temp": (MemoryClass.GRADIENT, MemoryClass.TEMPORARY),
}
"""Classes here by those of MemTracker."""


@cache
def analysis_of(case: str) -> Analysis:
    return recorded(case, Path(mkdtemp()))


def memory_of(case: str) -> MemoryUse:
    found = analysis_of(case).memory
    assert found
    return found


@cache
def tracked(case: str) -> dict[str, int]:
    """Bytes by class at the peak of two steps, by MemTracker."""
    model, optimizer, batch = made(case)
    tracker = MemTracker()
    tracker.track_external(model, optimizer)
    with tracker:
        for _ in range(2):
            train(model, optimizer, batch)
            tracker.reset_mod_stats()
    snapshot: Any = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]
    by_name = {getattr(key, "value", key): int(size) for key, size in snapshot.items()}
    return {**by_name, "Gradient + Temp": by_name["Gradient"] + by_name["Temp"]}


def of_classes(memory: MemoryUse, position: int, classes: tuple[MemoryClass, ...]) -> int:
    return sum(int(memory.live.of(kind, np.array([position]))[0]) for kind in classes)


def recorded_bytes(memory: MemoryUse) -> np.ndarray:
    """Bytes allocated in the recording; the CPU's total has those of earlier ones in it too."""
    at = np.arange(len(memory.events))
    return memory.events.allocated - memory.live.of(MemoryClass.BEFORE_RECORDING, at)


def test_the_peak_is_that_of_memtracker(case: str) -> None:
    manifest = analysis_of(case).trace.manifest
    assert manifest
    parameters = sum(module.bytes for module in manifest.modules)
    assert parameters == tracked(case)["Parameter"]
    peak = int(recorded_bytes(memory_of(case)).max()) + parameters
    assert peak == pytest.approx(tracked(case)["Total"], rel=0.01)


def test_classes_at_the_peak_are_those_of_memtracker(case: str) -> None:
    """At one of the moments within 1 % of the peak: several are, and scratch space decides."""
    memory, truth = memory_of(case), tracked(case)
    live = recorded_bytes(memory)
    wanted = np.array([truth[name] for name in BY_MODEL])
    near = np.flatnonzero(live > 0.99 * live.max())
    found = np.array(
        [[of_classes(memory, at, classes) for classes in BY_MODEL.values()] for at in near]
    )
    error = np.abs(found - wanted) / np.maximum(wanted, 0.01 * wanted.sum())
    assert error.max(axis=1).min() < 0.05


def test_live_bytes_of_all_classes_sum_to_the_total_at_every_moment(case: str) -> None:
    memory = memory_of(case)
    at = np.arange(len(memory.events))
    total = sum(memory.live.of(kind, at) for kind in MemoryClass)
    assert np.array_equal(total, memory.events.allocated)
    assert not memory.live.of(MemoryClass.UNKNOWN, at).any()


def test_activations_of_each_module_are_the_storages_that_live_as_the_backward_begins(
    case: str,
) -> None:
    model, _, batch = made(case)
    with Storages(model) as storages:
        loss = model(batch()).pow(2).mean()
        truth = {path: size for path, size in storages.live.items() if size > 4096}
    loss.backward()
    analysis, memory = analysis_of(case), memory_of(case)
    begin = analysis.phases.time[Phase.BACKWARD][0, 0]
    at = int(np.searchsorted(memory.events.time, begin)) - 1
    saved = memory.blocks.live_at(at, 0) & (memory.kind == MemoryClass.ACTIVATION)
    sizes = np.bincount(
        memory.lives.module[saved] + 1, memory.blocks.size[saved], len(analysis.modules) + 1
    )
    found = dict(zip(analysis.modules.path, sizes[1:].tolist(), strict=True))
    assert {path: found[path] for path in truth} == pytest.approx(truth, rel=0.05)


def test_gradients_and_states_are_those_of_the_parameters(case: str) -> None:
    model, optimizer, batch = made(case)
    model(batch()).pow(2).mean().backward()
    gradients = sum(p.grad.nbytes for p in model.parameters() if p.grad is not None)
    optimizer.step()
    states = sum(each.nbytes for state in optimizer.state.values() for each in state.values())
    analysis, memory = analysis_of(case), memory_of(case)
    step = np.flatnonzero(analysis.host.role == Role.OPTIMIZER)[0]
    before = int(np.searchsorted(memory.events.time, analysis.call_tree.start[step])) - 1
    found = of_classes(memory, before, (MemoryClass.GRADIENT,))
    assert found == pytest.approx(gradients, rel=0.05)
    at_end = of_classes(memory, len(memory.events) - 1, (MemoryClass.OPTIMIZER_STATE,))
    assert at_end == pytest.approx(states, rel=0.05)
