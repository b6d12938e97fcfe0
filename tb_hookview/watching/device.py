"""Marks on a device: events that are recorded now, and read once the device has passed them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Protocol

import torch
from torch import nn

from tb_hookview.recorder import faults
from tb_hookview.watching.clock import GRADIENT, ON_HOST
from tb_hookview.watching.step_rows import Ended

_MOST = 8192
"""Events; the oldest is used again."""


class Event(Protocol):
    """What `torch.Event` is."""

    def record(self) -> object:
        """Have the device note the time when it comes here."""

    def query(self) -> bool:
        """Return whether the device has come here."""

    def elapsed_time(self, later: Any) -> float:
        """Return the milliseconds from this event to a later one."""


class DeviceStamps:
    """Numbers events in the order of their recording, and reads them later without a wait.

    Everything here runs on the threads that train: to ask for an event from another one could
    invalidate a CUDA graph that is being captured.
    """

    def __init__(self, new: Callable[[], Event], is_capturing: Callable[[], bool]) -> None:
        """Record nothing yet.

        Args:
            new: makes an event.
            is_capturing: whether an event would become a part of a graph.
        """
        self._new, self._is_capturing = new, is_capturing
        self._events: list[Event] = []
        self._numbers = count(1)
        self._newest = 0
        self._waiting: deque[tuple[Ended, int]] = deque()

    def stamp(self) -> int:
        """Record an event and return its number; 0 where none can be recorded."""
        try:
            if self._is_capturing():
                return 0
            number = self._newest = next(self._numbers)
            if len(self._events) < _MOST:
                self._events.append(self._new())
            self._event(number).record()
            return number
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("marking a step on the device", fault, "its blocks have no times")
            return 0

    def _event(self, number: int) -> Event:
        return self._events[(number - 1) % _MOST]

    def passed(self, ended: Ended) -> Iterator[Ended]:
        """Take a step, and yield those that the device has passed, with times for their numbers."""
        self._waiting.append((ended, self.stamp()))
        while self._waiting and not self._is_capturing():
            first, last = self._waiting[0]
            if last and not self._event(last).query():
                return
            self._waiting.popleft()
            yield self._read(first, last)

    def rest(self) -> Iterator[Ended]:
        """Yield the steps that the device may not have passed, without their marks on it."""
        while self._waiting:
            yield _without_device(self._waiting.popleft()[0])

    def _read(self, ended: Ended, last: int) -> Ended:
        try:
            timed = self._timed(ended[4], last)
            return _without_device(ended) if timed is None else (*ended[:4], timed, ended[5])
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
            faults.report("reading a step from the device", fault, "its blocks have no times")
            return _without_device(ended)

    def _timed(self, marks: list[int], last: int) -> list[int] | None:
        """Return marks with nanoseconds before the last event, in the place of numbers.

        None where one was not recorded, in a graph that was captured, or is used again since.
        """
        timed = list(marks)
        for at in range(0, len(marks), 3):
            kind = marks[at]
            if kind in ON_HOST:
                continue
            for place in (at + 1,) if kind >= GRADIENT else (at + 1, at + 2):
                number = marks[place]
                if not 0 < number < last or self._newest - number >= _MOST:
                    return None
                before_ms = self._event(number).elapsed_time(self._event(last))
                timed[place] = -round(before_ms * 1e6)
        return timed


def _without_device(ended: Ended) -> Ended:
    marks = ended[4]
    kept: list[int] = []
    for at in range(0, len(marks), 3):
        if marks[at] in ON_HOST:
            kept += marks[at : at + 3]
    return (*ended[:4], kept, ended[5])


def stamps_of(model: nn.Module | None) -> DeviceStamps | None:
    """Return the stamps of the device that a model is on; None for the host's clock."""
    first = None if model is None else next(model.parameters(), None)
    if first is None or first.device.type != "cuda":
        return None
    return DeviceStamps(
        lambda: torch.cuda.Event(enable_timing=True),  # type: ignore[no-untyped-call]
        torch.cuda.is_current_stream_capturing,
    )
