"""Several clients, each of whom asks for another trace that the server has not read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

from common.markdown import table

from serving.clients import ask_all
from serving.server import Server, serving

_BETWEEN_S = 0.05
"""Seconds between two questions of the client that asks for no trace."""


def measure(logdir: Path, runs: Sequence[dict[str, str]], repeats: int) -> list[str]:
    """Ask for one trace alone, then for all of them at once, each of a fresh server."""
    alone, ends, waits, peaks = [], [], [], []
    for _ in range(repeats):
        with serving(logdir) as server:
            alone.append(server.ask("report", **runs[0]).seconds)
        with serving(logdir) as server:
            asking = _Aside(server)
            load = ask_all(lambda number: server.ask("report", **runs[number]), len(runs), 1)
            waits += asking.stop()
            ends.append(sorted(load.seconds))
            peaks.append(server.peak())
    first, middle, last = (median(of(end) for end in ends) for of in (min, median, max))
    known = [peak for peak in peaks if peak]
    ours = f"{max(known) / 1e6:,.0f}" if known else "unknown"
    listed = f"{1000 * median(waits):.0f}, {1000 * max(waits):.0f}" if waits else "not asked"
    at_once = f"{len(runs)} traces at once: first, median and last answer, s"
    rows = [
        ["a trace alone, s", f"{median(alone):.2f}"],
        [at_once, f"{first:.2f}, {middle:.2f}, {last:.2f}"],
        ["last answer / (traces x one alone)", f"{last / len(runs) / median(alone):.2f}"],
        ["the list of runs meanwhile: median, longest, ms", listed],
        ["most memory of the server's own process, MB", ours],
    ]
    return [table(["cold", "measured"], rows)]


class _Aside:
    """A client that asks for the list of runs, again and again, until it is stopped."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._seconds: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        while not self._done.wait(_BETWEEN_S):
            begin = perf_counter()
            self._server.ask("runs")
            self._seconds.append(perf_counter() - begin)

    def stop(self) -> list[float]:
        """Seconds of each answer."""
        self._done.set()
        self._thread.join()
        return self._seconds
