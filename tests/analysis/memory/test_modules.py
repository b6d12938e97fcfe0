"""Lives of activations, and what checkpointing frees: against loops, and against doing it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memory_models import recorded

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.memory.blocks import MemoryBlocks
from tb_hookview.analysis.memory.live import NEVER, Lives, MemoryClass
from tb_hookview.analysis.memory.operators import activation_lives, checkpoint_bound, live_by_module
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.schema.terms import Phase

KINDS = [MemoryClass.ACTIVATION, MemoryClass.ACTIVATION, MemoryClass.GRADIENT]


class Drawn:
    """A module tree, and blocks that its modules allocate and free."""

    def __init__(self, draw: st.DrawFn) -> None:
        size = draw(st.integers(1, 6))
        parent = [-1]
        for module in range(1, size):  # depth first: below the last one, or one of those above it
            above = [module - 1]
            while above[-1] >= 0:
                above.append(parent[above[-1]])
            parent.append(draw(st.sampled_from(above)))
        names = tuple(map(str, range(size)))
        self.modules = Modules(names, names, np.array(parent), np.zeros(size, np.int64))
        count = draw(st.integers(0, 12))

        def column(values: st.SearchStrategy[int]) -> Int:
            return np.array(draw(st.lists(values, min_size=count, max_size=count)), np.int64)

        self.size, self.birth = column(st.integers(1, 9)), column(st.integers(0, 9))
        length = column(st.integers(-1, 9))
        self.death = np.where(length < 0, NEVER, self.birth + length)
        self.module, self.freed_in = (column(st.integers(-1, size - 1)) for _ in range(2))
        self.kind = column(st.sampled_from([int(kind) for kind in KINDS]))
        self.chosen = column(st.integers(0, 1)) > 0
        none, never = np.full(count, -1), np.zeros(count, bool)
        self.blocks = MemoryBlocks(none, none, self.size, none)
        self.lives = Lives(
            none, none, self.birth, self.death, none, self.module, never, never, never
        )

    def around(self, module: int) -> list[int]:
        """The module and those above it."""
        found = []
        while module >= 0:
            found.append(module)
            module = int(self.modules.parent[module])
        return found


drawn = st.composite(lambda draw: Drawn(draw))()


@given(drawn)
def test_checkpointing_frees_what_a_module_allocates_and_frees_itself(found: Drawn) -> None:
    expected = [0] * len(found.modules)
    for block in np.flatnonzero(found.chosen & (found.kind == MemoryClass.ACTIVATION)).tolist():
        of_birth, of_death = found.around(found.module[block]), found.around(found.freed_in[block])
        for module in set(of_birth) & set(of_death):
            expected[module] += int(found.size[block])
    bound = checkpoint_bound(
        found.kind, found.freed_in, found.lives, found.blocks, found.chosen, found.modules
    )
    assert bound.tolist() == expected


@given(drawn)
def test_lives_and_live_bytes_by_module(found: Drawn) -> None:
    size = len(found.modules)
    saved = activation_lives(found.kind, found.lives, found.blocks, found.chosen, size)
    live = live_by_module(found.kind, found.lives, found.blocks, found.chosen, size)
    for module in range(-1, size):
        mine = [b for b in np.flatnonzero(found.chosen).tolist() if found.module[b] == module]
        for kind in MemoryClass:
            of_kind = sum(int(found.size[b]) for b in mine if found.kind[b] == kind)
            assert live[module + 1, kind] == of_kind
        active = [b for b in mine if found.kind[b] == MemoryClass.ACTIVATION]
        times = [int(found.death[b] - found.birth[b]) for b in active if found.death[b] != NEVER]
        row = (saved.count, saved.bytes, saved.lifetime, saved.freed, saved.longest)
        assert [int(column[module + 1]) for column in row] == [
            len(active),
            sum(int(found.size[b]) for b in active),
            sum(times),
            len(times),
            max(times, default=0),
        ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_bound_of_all_blocks_is_what_checkpointing_them_frees(tmp_path: Path) -> None:
    """Three blocks, recorded as they are and checkpointed: what lives as the backward begins."""
    plain = recorded("mlp", tmp_path / "plain")
    found, live = live_in_backward(plain)
    bound = checkpoint_bound(
        found.kind, found.freed_in, found.lives, found.blocks, live, plain.modules
    )
    by_path = dict(zip(plain.modules.path, bound.tolist(), strict=True))
    blocks = sum(by_path[f"blocks.{number}"] for number in range(3))
    assert blocks > 1_000_000
    again, kept = live_in_backward(recorded("checkpointed", tmp_path / "checkpointed"))
    assert blocks == pytest.approx(saved(found, live) - saved(again, kept), rel=0.05)


def live_in_backward(analysis: Analysis) -> tuple[MemoryUse, Bool]:
    """Blocks that live as the first backward pass begins."""
    memory = analysis.memory
    assert memory
    begin = analysis.phases.time[Phase.BACKWARD][0, 0]
    at = int(np.searchsorted(memory.events.time, begin)) - 1
    return memory, memory.blocks.live_at(at, 0)


def saved(memory: MemoryUse, live: Bool) -> int:
    return int(memory.blocks.size[live & (memory.kind == MemoryClass.ACTIVATION)].sum())
