"""So much work at once and no more, in the order in which it was asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock


class Turns:
    """Lets `most` go on at a time; the others wait, first come first served."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._line: deque[Event] = deque()
        self._lock = Lock()

    @property
    def waiting(self) -> int:
        """How many stand in line."""
        return len(self._line)

    @contextmanager
    def turn(self, look: Callable[[], None], every_s: float) -> Iterator[None]:
        """Wait for a turn, and have it for as long as the context lasts.

        Args:
            look: called every so many seconds of waiting; what it raises ends the wait.
            every_s: seconds.
        """
        mine = self._stand_in_line()
        try:
            while not mine.wait(every_s):
                look()
            yield
        finally:
            self._leave(mine)

    def _stand_in_line(self) -> Event:
        mine = Event()
        with self._lock:
            if self._free:
                self._free -= 1
                mine.set()
            else:
                self._line.append(mine)
        return mine

    def _leave(self, mine: Event) -> None:
        with self._lock:
            if not mine.is_set():
                self._line.remove(mine)
            elif self._line:
                self._line.popleft().set()
            else:
                self._free += 1
