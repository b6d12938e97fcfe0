"""Random timelines: the split of idle time agrees with one done moment by moment."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from support import slow_idle

from tb_hookview.analysis.idle.gaps import Cause, Claims, cut
from tb_hookview.loading import load

KERNELS = ("gemm", "relu", "ncclDevKernel_AllReduce_Sum_f32_RING")
COPIES = ("Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)")

CALLS = {"wait": "cudaEventSynchronize", "malloc": "cudaMalloc", "module": "cuModuleLoadData"}


class Timelines:
    """Draws timelines of a process with two threads that launch device events on two devices."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.events: list[dict[str, Any]] = []
        self.free = {(device, stream): 0 for device in (0, 1) for stream in (7, 20)}
        self.correlation = 100
        self.devices = self.random.choice([(0,), (0, 1)])

    def draw(self) -> list[dict[str, Any]]:
        for _ in range(self.random.randint(0, 3)):  # events launched before, or somewhere
            self._work("gemm", self.random.randint(0, 20), self.random.choice([1, 50, 9999]))
        for thread in ("main", "autograd"):
            clock = self.random.randint(0, 60)
            for _ in range(self.random.randint(1, 9)):
                clock = self._act(thread, clock) + self.random.choice([0, 1, 2, 9, 30])
        if self.random.random() < 0.5:
            name = self.random.choice(["Buffer Flush", "Buffer Flush", "Lazy Function Loading"])
            self._add("overhead", name, self.random.randint(0, 150), 12, "0", -1)
        if self.random.random() < 0.3:
            self._add("user_annotation", "gloo:all_reduce", 40, 50, "gloo")
        return self.events

    def _act(self, thread: str, clock: int) -> int:
        """One thing a thread does, from `clock` on; the end of it."""
        kind = self.random.choice(
            ["launch"] * 4 + ["wait", "wait", "copy", "malloc", "loader", "module"]
        )
        length = self.random.randint(1, 25)
        if kind == "loader":
            inner = self._act(thread, clock + 1) if self.random.random() < 0.4 else clock + length
            name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
            self._add("user_annotation", name, clock, inner + 3 - clock, thread)
            return inner + 3
        if kind == "launch":
            length = self.random.choice([2, 2, 2, 2, 4, 30, 90])
            self._launch("cudaLaunchKernel", self.random.choice(KERNELS), thread, clock, length)
        elif kind == "copy":
            self._launch("cudaMemcpyAsync", self.random.choice(COPIES), thread, clock, length)
        else:
            self._add("cuda_runtime", CALLS[kind], clock, length, thread)
        return clock + length

    def _launch(self, call: str, work: str, thread: str, clock: int, length: int) -> None:
        self.correlation += 1
        self._add("cuda_runtime", call, clock, length, thread, correlation=self.correlation)
        several = self.random.random() < 0.15 and call == "cudaLaunchKernel"
        for _ in range(3 if several else 1):
            self._work(work, clock + self.random.choice([1, 4, 5, 11, length]), self.correlation)

    def _work(self, name: str, earliest: int, correlation: int) -> None:
        stream = self.random.choice([7, 7, 7, 20])
        device = self.random.choice(self.devices)
        start = max(earliest, self.free[device, stream]) + self.random.choice([0, 0, 1, 6])
        length = self.random.randint(1, 40)
        self.free[device, stream] = start + length
        category = "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
        self._add(category, name, start, length, str(stream), device, correlation)

    def _add(
        self,
        category: str,
        name: str,
        start: int,
        length: int,
        thread: str,
        pid: int = 77,
        correlation: int = -1,
    ) -> None:
        args = {"correlation": correlation} if correlation >= 0 else {}
        event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": thread}
        self.events.append({**event, "ts": 1000 + start, "dur": length, "args": args})


QUICK = 80
"""Seeds of timelines that hold every cause several times."""
SEEDS = [
    pytest.param(seed, marks=[] if seed < QUICK else [pytest.mark.slow]) for seed in range(400)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_split_of_random_timelines(tmp_path: Path, seed: int) -> None:
    events = Timelines(seed).draw()
    gaps = load(grid.write(tmp_path / "t.json", events)).gaps
    found: dict[int, Counter[str]] = {}
    for device, cause, length in zip(gaps.device, gaps.cause, gaps.duration, strict=True):
        found.setdefault(int(device), Counter())[Cause(int(cause)).name.lower()] += length / 1000
    assert found == slow_idle.split(slow_idle.read(events))


def test_the_random_timelines_hold_every_cause() -> None:
    found: Counter[str] = Counter()
    for seed in range(40):
        for causes in slow_idle.split(slow_idle.read(Timelines(seed).draw())).values():
            found += causes
    assert set(found) == {cause.name.lower() for cause in Cause}


@pytest.mark.parametrize("seed", range(50))
def test_cutting_random_claims(seed: int) -> None:
    """Every moment goes to the first claim that holds it, and to one that holds it indeed."""
    draw = np.random.default_rng(seed)
    marks = np.unique(draw.integers(0, 60, 2 * draw.integers(1, 5)))
    idle = marks[: len(marks) // 2 * 2].reshape(-1, 2)
    claims = []
    for cause in (Cause.SYNC, Cause.COPY, Cause.LAUNCH):
        start = draw.integers(-5, 60, draw.integers(0, 5))
        end = start + draw.integers(-3, 20, len(start))
        claims.append(Claims(cause, start, end, np.arange(len(start))))
    pieces = cut(idle, claims, np.array([0]))
    billed = {}
    for start, end, cause, source in zip(*pieces, strict=True):
        assert start < end
        billed |= dict.fromkeys(range(start, end), (cause, source))
    assert set(billed) == {m for start, end in idle for m in range(start, end)}
    assert sum(pieces.end - pieces.start) == len(billed)
    for moment, (cause, source) in billed.items():
        holding = [
            (claim.cause, {i for i in claim.source if claim.start[i] <= moment < claim.end[i]})
            for claim in claims
        ]
        first = next(((c, rows) for c, rows in holding if rows), (Cause.UNKNOWN, {-1}))
        assert cause == first[0]
        assert source in first[1]
