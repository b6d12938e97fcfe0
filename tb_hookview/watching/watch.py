"""Watches a training from its first step to its last: `watch`."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import weakref
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from types import FrameType
from typing import Any

from torch import nn

from tb_hookview.addresses.text import is_address
from tb_hookview.errors import UsageError
from tb_hookview.recorder import faults, roots
from tb_hookview.recorder.profiling import _parse_ranks
from tb_hookview.recorder.tree import within_parallel
from tb_hookview.recorder.wrapping import unwrap, wrap
from tb_hookview.watching import phases
from tb_hookview.watching.agreement import RecordingPlan
from tb_hookview.watching.attached import Attached
from tb_hookview.watching.blocks import MOST, choose_blocks
from tb_hookview.watching.clock import BLOCKS, PHASES, RUN, Sampling, StepClock
from tb_hookview.watching.device import DeviceStamps, stamps_of
from tb_hookview.watching.keeping import Keeper, Limits
from tb_hookview.watching.recordings import Recorder
from tb_hookview.watching.step_rows import Ended
from tb_hookview.watching.triggers import Triggers

_CALM = 64
"""Steps until the length of a step is looked at again, while nothing is sampled."""


def watch(
    logdir: str | os.PathLike[str],
    *,
    model: nn.Module | None = None,
    blocks: int = MOST,
    blocks_every: int | None = None,
    steps: int = 3,
    ranks: Iterable[int] | None = None,
    every_steps: int | None = None,
    every_minutes: float | None = None,
    slow_factor: float | None = 1.5,
    slow_steps: int = 3,
    rest_minutes: float = 20.0,
    first: int | None = 10,
    on_signal: int | None = getattr(signal, "SIGUSR1", None),
    keep: int = 10,
    max_bytes: int = 2_000_000_000,
    max_step_bytes: int = 200_000_000,
    scalars: bool = True,
    **profiler_options: Any,
) -> Watch:
    """Time every step of a training run, and record when it is worth it.

    Use it as a context manager and call its `step()` after each step. Each step becomes a row of a
    file `<worker>.<time>.steps.jsonl`; recordings are `profile`'s, into the same folder, of the
    same steps on all ranks.

    Args:
        logdir: folder for steps and recordings, made if missing.
        model: times its forward pass and that of its blocks, and wraps it while it is watched.
        blocks: number of blocks of the model to time, at most 16; 0 for none.
        blocks_every: time blocks in 8 consecutive steps out of 8 times this many. By default in
            every step of 160 ms or longer, and less often in shorter ones; in steps below 10 ms
            forward, backward and optimizer are sampled along with them.
        steps: number of steps of one recording.
        ranks: the ranks that record; all by default. All write their steps.
        every_steps: record again after this many steps.
        every_minutes: record again after this many minutes.
        slow_factor: record when steps take longer than this multiple of the running median, or
            when one part of them makes them longer by half of that for many steps; None for never.
        slow_steps: number of slow steps in a row that trigger a recording.
        rest_minutes: minimum time between two recordings of slow steps.
        first: step of the first recording, which later ones are compared with; None for none.
        on_signal: signal that triggers a recording; None for none. An existing handler is called
            as well.
        keep: number of recordings to keep: the newest ones, and the slowest.
        max_bytes: maximum size of this rank's recordings.
        max_step_bytes: maximum size of this rank's step files.
        scalars: also write a summary for TensorBoard's SCALARS, where tensorboard is installed.
        **profiler_options: keywords of `profile`, without `schedule`.

    Raises:
        UsageError: an option has a wrong value.
    """
    if is_address(logdir):
        raise UsageError(f"watch needs a folder of this machine, not {logdir}; copy it afterwards")
    _require_positive(steps=steps, keep=keep, slow_steps=slow_steps, max_bytes=max_bytes)
    _require_positive(blocks_every=1 if blocks_every is None else blocks_every)
    if not 0 <= blocks <= MOST:
        raise UsageError(f"blocks is {blocks}; 0 to {MOST} are expected")
    if slow_factor is not None and slow_factor <= 1:
        raise UsageError(f"slow_factor is {slow_factor}; more than 1 is expected")
    chosen = _parse_ranks(ranks, rank0_only=False)
    limits = Limits(keep, max_bytes, max_step_bytes)
    triggers = Triggers(every_steps, every_minutes, slow_factor, slow_steps, rest_minutes, first)
    folder = Path(logdir)
    keeper = Keeper(folder, limits, steps, chosen, triggers, scalars=scalars)
    keeper.fixed = None if blocks_every is None else Sampling(blocks_every, PHASES)
    return Watch(model, blocks, keeper, Recorder(folder, profiler_options), on_signal)


class Watch:
    """Watches one training run; `watch` makes it. Its own errors never reach the training loop."""

    def __init__(
        self,
        model: nn.Module | None,
        blocks: int,
        keeper: Keeper,
        recorder: Recorder,
        on_signal: int | None,
    ) -> None:
        """Attach nothing yet."""
        self._model = None if model is None else weakref.ref(model)
        self._blocks = blocks
        self._keeper = keeper
        self._recorder = recorder
        self._on_signal = on_signal
        self._process = os.getpid()
        self._step = 0
        self._running = False
        self._wrapped = False
        self._after = False
        self._attached: Attached | None = None
        self._earlier: Any = None
        self._device: DeviceStamps | None = None
        self._clock = StepClock()
        self._marks = self._clock.marks
        self._since = 0
        self._is_routine = False
        self._blocks_timed = 0
        """Blocks that are timed in the step under way: all, or 0; -1 if no phase is, either."""
        self._most = self._timed = PHASES
        """What is timed in some steps, and in the one under way."""
        self._turn = RUN
        """Step after which more or less is timed."""

    @property
    def lost(self) -> int:
        """Steps and recordings that could not be written."""
        return self._keeper.lost

    @property
    def recordings(self) -> list[Path]:
        """The recordings of this process that are kept."""
        return self._keeper.paths

    def __enter__(self) -> Watch:
        """Begin with the first step."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Write what is recorded, and leave the training as it was."""
        self.stop()

    def start(self) -> None:
        """Begin with the first step."""
        if self._running:
            return
        self._running = True
        _watches.add(self)
        _guarded("watching the training", self._attach)
        self._marks.clear()
        self._since = perf_counter_ns()

    def _attach(self) -> None:
        model = None if self._model is None else self._model()
        blocks = []
        if model is not None:
            inner = within_parallel(model)
            if roots.find(inner) is None and roots.find(model) is None:
                wrap(inner)
                self._wrapped = True
            root = roots.find(inner) or roots.find(model)
            blocks = choose_blocks(model, "" if root is None else root.path, self._blocks)
        self._device = stamps_of(model)
        self._clock = StepClock() if self._device is None else StepClock(self._device.stamp)
        self._marks = self._clock.marks
        if model is not None:
            self._attached = Attached(model, blocks, self._clock)
            self._blocks = self._blocks_timed = len(blocks)
            self._most = self._timed = BLOCKS if blocks else PHASES
        clock = "host" if self._device is None else "device"
        self._keeper.start([block.name for block in blocks], clock)
        phases.follow(self._clock)
        self._clock.watch_collections()
        self._listen()

    def step(self) -> None:
        """End a step and begin the next one."""
        if not self._running:
            return
        now = perf_counter_ns()
        self._step = step = self._step + 1
        ended = (step, 0, self._since, now, self._marks.copy(), self._blocks_timed)
        self._marks.clear()
        keeper = self._keeper
        if self._is_routine and step != self._turn and keeper.plan is None:
            keeper.ended.append(ended)
            self._since = now
            return
        try:
            self._end_step(ended)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("watching a step", fault, "this step may be missing")
        self._marks.clear()
        self._since = perf_counter_ns()

    def record(self, steps: int | None = None) -> None:
        """Ask for a recording that begins as soon as all ranks know of it.

        Args:
            steps: of the recording; those of `watch` by default.
        """
        self._keeper.ask("call", steps)

    def stop(self) -> None:
        """Write what is recorded, and leave the training as it was."""
        if not self._running:
            return
        self._running = False
        _watches.discard(self)
        self._clock.forget_collections()
        phases.leave(self._clock)
        if os.getpid() != self._process:
            return
        _guarded("ending a recording", self._end_recording)
        for ended in () if self._device is None else self._device.rest():
            self._keeper.ended.append(ended)
        _guarded("removing the hooks of a watch", self._detach)
        _guarded("ending a watch", self._keeper.end)

    def abandon(self) -> None:
        """Forget everything in a process that was forked: the training is its parent's."""
        self._running = False
        self._clock.forget_collections()

    def _end_recording(self) -> None:
        plan = self._recorder.plan
        if plan is not None:
            self._keeper.recorded(plan, self._recorder.end())

    def _detach(self) -> None:
        if self._attached is not None:
            self._attached.remove()
        model = None if self._model is None else self._model()
        if self._wrapped and model is not None:
            unwrap(within_parallel(model))
        if self._earlier is not None and self._on_signal is not None:
            signal.signal(self._on_signal, self._earlier)
            self._earlier = None

    def _end_step(self, ended: Ended) -> None:
        step = ended[0]
        recorded = self._recorder.plan
        state = 3 if self._after else 0 if recorded is None else 1 + (step >= recorded.start)
        self._after = False
        ended = (step, state, *ended[2:])
        for each in (ended,) if self._device is None else self._device.passed(ended):
            self._keeper.ended.append(each)
        if state:
            self._follow_recording(step)
        else:
            self._follow_plan(step)
        recording = self._after or self._recorder.plan is not None
        if not recording and step >= self._turn:
            self._turn = step + self._switch()
        self._is_routine = not (recording or self._device)

    def _switch(self) -> int:
        """Have more or less timed in the next step; return the steps until it is looked again."""
        self._keeper.wake_if_full()
        every, least = self._keeper.sampling
        most = self._most
        timed = most if every == 1 or self._timed < most else least
        if timed != self._timed:
            self._timed = timed
            self._blocks_timed = self._blocks if timed == BLOCKS else 0 if timed == PHASES else -1
            phases.switch(self._clock, on=timed >= PHASES)
            if self._attached is not None:
                self._attached.switch(timed)
        if least == most:
            return _CALM
        return RUN if timed == most else RUN * (every - 1)

    def _follow_plan(self, step: int) -> None:
        plan = self._keeper.plan_after(step)
        if plan is not None:
            self._recorder.begin(plan, self._about(plan))

    def _follow_recording(self, step: int) -> None:
        try:
            done = self._recorder.step(step)
        except Exception:
            self._recorder.end()
            self._keeper.lose()
            raise
        if done is not None:
            self._after = True
            self._keeper.recorded(*done)

    def _about(self, plan: RecordingPlan) -> dict[str, Any]:
        return {
            "reason": plan.reason,
            "asked_by": plan.asked_by,
            "start": plan.start,
            "steps": plan.steps,
            "ratio": round(plan.ratio, 3),
            "before": self._keeper.describe_latest(),
        }

    def _listen(self) -> None:
        if self._on_signal is None or threading.current_thread() is not threading.main_thread():
            return
        self._earlier = signal.getsignal(self._on_signal)
        earlier = self._earlier if callable(self._earlier) else None

        def asked(number: int, frame: FrameType | None) -> None:
            self._keeper.is_signalled = True
            if earlier is not None:
                earlier(number, frame)

        signal.signal(self._on_signal, asked)


_guarded = partial(faults.guarded, consequence="the watch may be incomplete")


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or value < 1:
            raise UsageError(f"{name} is {value!r}; at least 1 is expected")


def _abandon_in_child() -> None:
    for running in list(_watches):
        running.abandon()
    _watches.clear()
    phases.forget_in_child()


def _stop_at_exit() -> None:
    """Write what is not written yet, and end the threads.

    A thread that is at the store of a process group while Python ends aborts the process.
    """
    for running in list(_watches):
        _guarded("ending a watch at exit", running.stop)


_watches: weakref.WeakSet[Watch] = weakref.WeakSet()
atexit.register(_stop_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)
