"""Keeps what a watch sees: rows into files, agreements, recordings up to a limit."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tb_hookview.recorder import faults, manifest
from tb_hookview.recorder.writing import _worker
from tb_hookview.step_log import DURATIONS, FOLDER, VERSION
from tb_hookview.watching.agreement import Alone, Board, RecordingPlan, find_board
from tb_hookview.watching.background import PERIOD_S, Background, peak_memory, take_request
from tb_hookview.watching.clock import Row
from tb_hookview.watching.recordings import Kept, surplus
from tb_hookview.watching.scalars import Scalars
from tb_hookview.watching.step_file import StepFile, row_line, to_line

_WAITING = 20_000
"""Rows that wait to be written at most; a disk that hangs must not fill the memory."""


class Limits(NamedTuple):
    """How much is kept."""

    keep: int
    most_bytes: int
    most_step_bytes: int


class _Asked(NamedTuple):
    reason: str
    step: int
    steps: int | None
    ratio: float
    ranks: tuple[int, ...] | None


class Keeper:
    """Everything of a watch that touches files or a store, in a thread of its own."""

    def __init__(
        self,
        folder: Path,
        limits: Limits,
        steps: int,
        ranks: frozenset[int] | None,
        *,
        scalars: bool,
    ) -> None:
        """Do nothing yet.

        Args:
            folder: for rows and recordings.
            limits: how much is kept.
            steps: of a recording that says nothing else.
            ranks: that record; None for all.
            scalars: whether TensorBoard's scalars are written.
        """
        self._folder, self._limits, self._steps = folder, limits, steps
        self._ranks = None if ranks is None else tuple(sorted(ranks))
        self._wants_scalars = scalars
        self._rows: deque[tuple[Row, int, float]] = deque()
        self._lines: deque[dict[str, Any]] = deque()
        self._asked: deque[_Asked] = deque(maxlen=4)
        self._kept: list[Kept] = []
        self._lost = 0
        self._number = 0
        self._plan: RecordingPlan | None = None
        self._board: Board | None = None
        self._median_ns = 0
        self._last_step = 0
        self._working = threading.Lock()
        self._thread = Background(self._work)

    @property
    def lost(self) -> int:
        """Rows and recordings that could not be kept."""
        return self._lost + (self._file.lost if hasattr(self, "_file") else 0)

    @property
    def paths(self) -> list[Path]:
        """The recordings that are kept."""
        return [each.path for each in self._kept]

    def start(self, blocks: list[str]) -> None:
        """Begin to write.

        Args:
            blocks: names of the blocks, in the order of the rows.
        """
        self._blocks = blocks
        self._began = time.time()
        self._file = StepFile(self._folder, _worker(), self._header, self._limits.most_step_bytes)
        rank, _ = manifest.place()
        self._scalars = Scalars(self._folder) if self._wants_scalars and not rank else None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            faults.report(f"making the folder {self._folder}", fault, "its steps are not kept")
        self._thread.start()

    def _header(self) -> dict[str, Any]:
        rank, world_size = manifest.place()
        return {
            "watch": VERSION,
            "rank": rank or 0,
            "world_size": world_size or 1,
            "process": os.getpid(),
            "torch": torch.__version__,
            "began": round(self._began, 3),
            "clock": "host",
            "blocks": self._blocks,
        }

    def add(self, row: Row, state: int) -> None:
        """Take a row."""
        if len(self._rows) < _WAITING:
            self._rows.append((row, state, time.time()))
        else:
            self._lost += 1
        self._last_step = row[0]

    def describe_rows(self, rows: Iterable[Row]) -> list[dict[str, Any]]:
        """Return rows as the manifest of a recording holds them."""
        return [
            {
                "step": row[0],
                **{
                    name: None if value < 0 else round(value / 1000)
                    for name, value in zip(DURATIONS, row[1:], strict=False)
                },
            }
            for row in rows
        ]

    def ask(
        self,
        reason: str,
        step: int,
        *,
        steps: int | None = None,
        ratio: float = 0.0,
        ranks: tuple[int, ...] | None = None,
    ) -> None:
        """Ask for a recording after a step."""
        self._asked.append(_Asked(reason, step, steps, ratio, ranks))
        self._thread.wake()

    def plan_after(self, step: int, median_ns: int) -> RecordingPlan | None:
        """Return the plan whose warm-up is the next step; None for none.

        Args:
            step: the step that ended.
            median_ns: of the latest steps.
        """
        self._median_ns = median_ns
        plan = self._plan
        if plan is None:
            return None
        if isinstance(self._board, Alone):  # nobody else must record the same steps
            plan = replace(plan, start=step + 2)
        if plan.start - 2 > step:
            return None
        if plan.start - 2 == step and self._records(plan):
            return plan
        self._plan = None
        self._lost += self._records(plan)  # too late
        return None

    def _records(self, plan: RecordingPlan) -> bool:
        rank, _ = manifest.place()
        ranks = self._ranks if plan.ranks is None else plan.ranks
        return ranks is None or (rank or 0) in ranks

    def take(self, plan: RecordingPlan) -> None:
        """Note that a plan is being followed."""
        self._plan = None
        self._drop_answered(plan)

    def lose(self) -> None:
        """Count a recording that failed."""
        self._lost += 1

    def recorded(self, plan: RecordingPlan, path: Path | None) -> None:
        """Take a recording that was written, and remove what is too much; None for none."""
        if path is None:
            self._lost += 1
            return
        try:
            size = path.stat().st_size
        except OSError:
            size = 0
        self._kept.append(Kept(path, plan, size))
        self._lines.append(
            {
                "recorded": path.name,
                "start": plan.start,
                "steps": plan.steps,
                "reason": plan.reason,
                "asked_by": plan.asked_by,
                "ratio": round(plan.ratio, 3),
            }
        )

    def end(self) -> None:
        """Write everything, and end the thread."""
        self._thread.end()
        if self._working.acquire(timeout=1.0):
            self._file.close()
            self._working.release()
        if self._scalars is not None:
            self._scalars.close()

    def _work(self) -> None:
        with self._working:
            self._write_rows()
            self._prune()
            if self._last_step:
                self._look_for_requests()
                self._agree()

    def _write_rows(self) -> None:
        count = len(self._rows)
        rows = [self._rows.popleft() for _ in range(count)]
        lines = []
        for number, (row, state, at) in enumerate(rows, 1):
            lines.append(row_line(row, state, at, peak_memory() if number == count else None))
        if self._scalars is not None:
            self._scalars.add([row for row, state, _ in rows if not state])
        while self._lines:
            lines.append(to_line(self._lines.popleft()))
        self._file.write(lines)

    def _prune(self) -> None:
        for each in surplus(self._kept, self._limits.keep, self._limits.most_bytes):
            each.path.unlink(missing_ok=True)
            self._kept.remove(each)

    def _look_for_requests(self) -> None:
        request = take_request(self._folder)
        if request is not None:
            steps, ranks = request.get("steps"), request.get("ranks")
            self._asked.append(
                _Asked(
                    "file",
                    self._last_step,
                    steps if isinstance(steps, int) and steps > 0 else None,
                    0.0,
                    tuple(r for r in ranks if isinstance(r, int)) if ranks else None,
                )
            )

    def _agree(self) -> None:
        if self._board is None:
            self._board = find_board(self._folder / FOLDER)
        while True:
            plan = self._board.look(self._number)
            if plan is None:
                break
            self._adopt(plan)
        if self._asked and self._plan is None:
            asked = self._asked.popleft()
            self._adopt(self._board.post(self._number, self._planned(asked)))

    def _adopt(self, plan: RecordingPlan) -> None:
        self._number += 1
        if plan.start > self._last_step:
            self._plan = plan
            self._drop_answered(plan)

    def _drop_answered(self, plan: RecordingPlan) -> None:
        """Forget who asked: one recording answers all but a request from another terminal."""
        waiting = [each for each in list(self._asked) if each.reason == "file" != plan.reason]
        self._asked.clear()
        self._asked.extend(waiting)

    def _planned(self, asked: _Asked) -> RecordingPlan:
        """Return a plan far enough ahead that every rank looks for it in time."""
        lead = 2
        if not isinstance(self._board, Alone):
            lead += 2 + math.ceil(3 * PERIOD_S * 1e9 / max(self._median_ns, 1_000_000))
        rank, _ = manifest.place()
        start = self._last_step + lead
        steps = asked.steps or self._steps
        return RecordingPlan(start, steps, asked.reason, rank or 0, asked.ranks, asked.ratio)
