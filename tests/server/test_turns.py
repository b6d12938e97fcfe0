"""At most so much at once, and in the order in which it was asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_hookview.server.turns import Turns
from tb_hookview.trace.coworker import cores

SOON = 0.01
"""Seconds between two looks; nothing hangs on it."""


class Crowd:
    """Threads that want a turn, begun one after the other."""

    def __init__(self, most: int) -> None:
        self.turns = Turns(most)
        self.began: list[int] = []
        self.go_on: dict[int, threading.Event] = {}
        self.threads: dict[int, threading.Thread] = {}
        self.gone: set[int] = set()

    def come(self, who: int) -> None:
        """Let somebody come, and wait until they have a turn or stand in line."""
        before = self.turns.waiting + len(self.began)
        self.go_on[who] = threading.Event()
        self.threads[who] = threading.Thread(target=self._take, args=(who,), daemon=True)
        self.threads[who].start()
        until(lambda: self.turns.waiting + len(self.began) > before)

    def _take(self, who: int) -> None:
        def look() -> None:
            if who in self.gone:
                raise InterruptedError

        try:
            with self.turns.turn(look, SOON):
                self.began.append(who)
                self.go_on[who].wait(60)
        except InterruptedError:
            pass

    def finish(self, who: int) -> None:
        self.go_on[who].set()
        self.threads[who].join(60)

    def go_away(self, who: int) -> None:
        self.gone.add(who)
        self.threads[who].join(60)


def until(condition: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(6_000):
        if condition():
            return
        waited.wait(SOON)
    raise AssertionError("it never came about")


@settings(max_examples=20)
@given(most=st.integers(1, 3), leaving=st.sets(st.integers(3, 5)))
def test_first_come_first_served_whoever_leaves_the_line(most: int, leaving: set[int]) -> None:
    crowd = Crowd(most)
    for who in range(6):
        crowd.come(who)
    assert crowd.began == list(range(most))
    for who in leaving:
        crowd.go_away(who)
    expected = [who for who in range(6) if who not in leaving]
    for done, who in enumerate(expected, 1):
        crowd.finish(who)
        reached = min(done + most, len(expected))
        until(lambda reached=reached: len(crowd.began) == reached)  # type: ignore[misc]
    assert crowd.began == expected
    crowd.come(6)
    assert crowd.began[-1] == 6, "all turns were given back"
    crowd.finish(6)


def test_what_fails_gives_its_turn_back() -> None:
    turns = Turns(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"), turns.turn(lambda: None, SOON):
            raise ValueError("broken")
    assert turns.waiting == 0
    with turns.turn(lambda: pytest.fail("there is nothing to wait for"), SOON):
        pass


def test_there_is_a_processor_at_least() -> None:
    assert cores() >= 1
