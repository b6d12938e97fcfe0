"""Clients that ask one question after the other, alone or several at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from serving.server import Answer

Ask = Callable[[int], Answer]
"""Asks the question of a number."""


@dataclass(frozen=True)
class Load:
    """What clients waited for their answers."""

    seconds: list[float]
    """Of each answer."""
    whole: float
    """Seconds from the first question to the last answer."""
    size: float
    """Bytes of an answer, median."""

    @property
    def middle(self) -> float:
        """Median seconds."""
        return median(self.seconds)

    @property
    def most(self) -> float:
        """Seconds of the slowest answer."""
        return max(self.seconds)

    @property
    def late(self) -> float:
        """95th percentile of the seconds: no more than a twentieth of the answers took longer."""
        ordered = sorted(self.seconds)
        return ordered[-(len(ordered) // 20) - 1]


def ask_all(ask: Ask, clients: int, each: int) -> Load:
    """Have clients ask `each` questions, every client its next one as soon as it is answered."""
    gate = threading.Barrier(clients)

    def client(number: int) -> list[Answer]:
        gate.wait()
        return [ask(number + clients * turn) for turn in range(each)]

    start = perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        answers = [answer for told in pool.map(client, range(clients)) for answer in told]
    whole = perf_counter() - start
    return Load([a.seconds for a in answers], whole, median(len(a.body) for a in answers))


def in_turn(choices: Sequence[str]) -> Callable[[int], str]:
    """One choice after the other, from the first again."""
    return lambda number: choices[number % len(choices)]
