"""Keeps what a watch sees: rows into files, agreements, recordings up to a limit."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple

import torch

from tb_hookview.recorder import faults, manifest
from tb_hookview.recorder.writing import _worker
from tb_hookview.step_log import DURATIONS, FOLDER, REQUEST, VERSION
from tb_hookview.watching.agreement import Alone, Board, RecordingPlan, find_board
from tb_hookview.watching.clock import Sampling, sampling_of
from tb_hookview.watching.recordings import Kept, surplus
from tb_hookview.watching.scalars import Scalars
from tb_hookview.watching.step_file import StepFile, row_lines, to_line
from tb_hookview.watching.step_rows import Ended, Row, rows_of
from tb_hookview.watching.triggers import Decision, Triggers

# The thread that writes steps, looks for requests and agrees with the other ranks.


PERIOD_S, PERIOD_OF_RANKS_S = 2.0, 0.5
"""Seconds from one look to the next: of a process alone, and of one that has to agree with others,
three of them before a recording begins."""


class Background:
    """Calls a function every now and then, until `end`."""

    def __init__(self, work: Callable[[], None], period_s: float) -> None:
        self._work, self._period_s = work, period_s
        self._asleep = threading.Lock()  # whoever wakes the thread releases it
        self._asleep.acquire()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="hookview-watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Have the function called now."""
        with contextlib.suppress(RuntimeError):  # it is awake
            self._asleep.release()

    def end(self, patience_s: float = 5.0) -> None:
        """Call it once more, and wait for that; for a store or a disk that hangs, not for long."""
        self._over = True
        self.wake()
        if self._thread.is_alive():
            self._thread.join(patience_s)

    def _run(self) -> None:
        while not self._over:
            self._asleep.acquire(timeout=self._period_s)
            self._call()
        self._call()  # what came while it was called the last time

    def _call(self) -> None:
        try:
            self._work()
        except Exception as fault:  # noqa: BLE001 - a thread of ours must not end by a fault
            faults.report("watching the training", fault, "some steps may be missing")


def take_request(folder: Path) -> dict[str, Any] | None:
    """Return what the file `record` of a folder asks for, and take it away; None without one.

    Of several processes one gets it.
    """
    if not os.access(os.path.join(folder, REQUEST), os.F_OK):  # noqa: PTH118 - a path takes longer
        return None
    path = folder / REQUEST
    taken = folder / f".{REQUEST}.{threading.get_native_id()}"
    try:
        path.rename(taken)
    except OSError:
        return None
    try:
        read = json.loads(taken.read_text() or "{}")
    except (OSError, ValueError):
        read = {}
    finally:
        taken.unlink(missing_ok=True)
    return read if isinstance(read, dict) else {}


def peak_memory() -> int | None:
    """Return the most memory that this process had so far: of its device, else of the host."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return torch.cuda.max_memory_allocated()
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


_WAITING = 10_000
"""Steps that wait to be written at most; a disk that hangs must not fill the memory."""
_BEFORE = 20
"""Steps before a recording that its manifest holds."""


class Limits(NamedTuple):
    """How much is kept."""

    keep: int
    most_bytes: int
    most_step_bytes: int


class _Asked(NamedTuple):
    reason: str
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
        triggers: Triggers,
        *,
        scalars: bool,
    ) -> None:
        """Do nothing yet.

        Args:
            folder: for rows and recordings.
            limits: how much is kept.
            steps: of a recording that says nothing else.
            ranks: that record; None for all.
            triggers: what else asks for recordings.
            scalars: whether TensorBoard's scalars are written.
        """
        self._folder, self._limits, self._steps = folder, limits, steps
        self._ranks = None if ranks is None else tuple(sorted(ranks))
        self._wants_scalars = scalars
        self.plan: RecordingPlan | None = None
        """What is to be recorded next."""
        self.is_signalled = False
        """Whether a signal asked for a recording."""
        self.fixed: Sampling | None = None
        """What is timed in how many steps; None for what the length of a step allows."""
        self._decision = Decision(triggers, perf_counter_ns() / 1e9)
        self.ended: deque[Ended] = deque(maxlen=_WAITING)
        """Steps that are to be written."""
        self._latest: deque[Ended] = deque(maxlen=_BEFORE)
        """Steps that are written, without those of recordings."""
        self._written = 0
        self._lines: deque[dict[str, Any]] = deque()
        self._asked: deque[_Asked] = deque(maxlen=4)
        self._kept: list[Kept] = []
        self._lost = 0
        self._number = 0
        self._board: Board | None = None
        self._working = threading.Lock()
        alone = (manifest.place()[1] or 1) == 1
        self._period_s = PERIOD_S if alone else PERIOD_OF_RANKS_S
        self._thread = Background(self._work, self._period_s)

    @property
    def lost(self) -> int:
        """Rows and recordings that could not be kept."""
        return self._lost + (self._file.lost if hasattr(self, "_file") else 0)

    @property
    def paths(self) -> list[Path]:
        """The recordings that are kept."""
        return [each.path for each in self._kept]

    def start(self, blocks: list[str], clock: str) -> None:
        """Begin to write.

        Args:
            blocks: names of the blocks, in the order of the rows.
            clock: "host" or "device", whose times those of calls and gradients are.
        """
        self._blocks, self._clock = blocks, clock
        self._began = time.time()
        worker, (rank, _) = _worker(), manifest.place()
        self._file = StepFile(self._folder, worker, self._header, self._limits.most_step_bytes)
        self._scalars = Scalars(self._folder, worker) if self._wants_scalars and not rank else None
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
            "clock": self._clock,
            "blocks": self._blocks,
            "blocks_every": None if self.fixed is None else self.fixed.every,
        }

    @property
    def sampling(self) -> Sampling:
        """What is timed in how many steps, for now."""
        usual_ns = self._decision.median.value
        return self.fixed or sampling_of(len(self._blocks), self._clock, usual_ns)

    def describe_latest(self) -> list[dict[str, Any]]:
        """Return the latest steps that were not recorded, as a recording's manifest has them."""
        waiting = list(self.ended)  # first: the thread moves steps from here to the latest ones
        plain = {each[0]: each for each in (*self._latest, *waiting) if not each[1]}
        rows = rows_of([plain[step] for step in sorted(plain)[-_BEFORE:]])
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

    def wake_if_full(self) -> None:
        """Wake the thread if a quarter of the queue is full: short steps fill it in a period."""
        if len(self.ended) > _WAITING // 4:
            self._thread.wake()

    def ask(self, reason: str, steps: int | None) -> None:
        """Ask for a recording of some steps, as soon as possible."""
        self._asked.append(_Asked(reason, steps, 0.0, None))
        self._thread.wake()

    def plan_after(self, step: int) -> RecordingPlan | None:
        """Return the plan whose warm-up is the step after this one; None for none."""
        plan = self.plan
        if plan is None:
            return None
        if isinstance(self._board, Alone):  # nobody else must record the same steps
            plan = replace(plan, start=step + 2)
        if plan.start - 2 > step:
            return None
        self.plan = None
        if plan.start - 2 == step and self._records(plan):
            return plan
        self._lost += self._records(plan)  # too late
        return None

    def _records(self, plan: RecordingPlan) -> bool:
        rank, _ = manifest.place()
        ranks = self._ranks if plan.ranks is None else plan.ranks
        return ranks is None or (rank or 0) in ranks

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
            for each in surplus(self._kept, self._limits.keep, self._limits.most_bytes):
                each.path.unlink(missing_ok=True)
                self._kept.remove(each)
            if self._written:
                self._look_for_requests()
                self._agree()

    def _write_rows(self) -> None:
        steps = [self.ended.popleft() for _ in range(len(self.ended))]
        self._latest.extend(ended for ended in steps if not ended[1])
        rows, lines = rows_of(steps), []
        if rows:
            self._lost += rows[-1][0] - self._written - len(rows)
            self._written = rows[-1][0]
            clocks_apart = time.time() - perf_counter_ns() / 1e9
            ends = [clocks_apart + ended[3] / 1e9 for ended in steps]
            states, timed = [ended[1] for ended in steps], [ended[5] >= 0 for ended in steps]
            lines = row_lines(rows, states, timed, ends, peak_memory())
        measured = [row for row, ended in zip(rows, steps, strict=True) if not ended[1]]
        self._decide(measured)
        while self._lines:
            lines.append(to_line(self._lines.popleft()))
        self._file.write(lines)
        if self._scalars is not None:
            self._scalars.add(measured)

    def _decide(self, rows: list[Row]) -> None:
        now = perf_counter_ns() / 1e9
        for row in rows:
            timed = max(row[3:7]) >= 0
            parts = (row[2], row[3], row[4], row[6]) if timed else ()  # no waiting for other ranks
            reason = self._decision.see(row[0], row[1], now, parts)
            if reason is not None:
                self._asked.append(_Asked(reason, None, self._decision.slowest_ratio, None))
        if self.is_signalled:
            self.is_signalled = False
            self._asked.append(_Asked("signal", None, 0.0, None))

    def _look_for_requests(self) -> None:
        request = take_request(self._folder)
        if request is not None:
            steps, ranks = request.get("steps"), request.get("ranks")
            self._asked.append(
                _Asked(
                    "file",
                    steps if isinstance(steps, int) and steps > 0 else None,
                    0.0,
                    tuple(r for r in ranks if isinstance(r, int)) if ranks else None,
                )
            )

    @property
    def _last_step(self) -> int:
        """The last step that ended."""
        waiting = self.ended
        return waiting[-1][0] if waiting else self._written

    def _agree(self) -> None:
        if self._board is None:
            self._board = find_board(self._folder / FOLDER)
        while True:
            plan = self._board.look(self._number)
            if plan is None:
                break
            self._adopt(plan)
        if self._asked and self.plan is None:
            asked = self._asked.popleft()
            self._adopt(self._board.post(self._number, self._planned(asked)))

    def _adopt(self, plan: RecordingPlan) -> None:
        self._number += 1
        alone = isinstance(self._board, Alone)  # it is never too late for that
        if alone or plan.start > self._last_step:
            self._decision.recorded(plan.reason, plan.start, perf_counter_ns() / 1e9)
            self.plan = plan
            # One recording answers all who asked, but a request from another terminal.
            waiting = [each for each in list(self._asked) if each.reason == "file" != plan.reason]
            self._asked.clear()
            self._asked.extend(waiting)

    def _planned(self, asked: _Asked) -> RecordingPlan:
        """Return a plan far enough ahead that every rank looks for it in time."""
        lead = 2
        if not isinstance(self._board, Alone):
            lead += 2 + math.ceil(
                3 * self._period_s * 1e9 / max(self._decision.median.value, 1_000_000)
            )
        rank, _ = manifest.place()
        start = self._last_step + lead
        steps = asked.steps or self._steps
        return RecordingPlan(start, steps, asked.reason, rank or 0, asked.ranks, asked.ratio)
