"""The first answer of a fresh process: without a cache, and with one that knows the trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter, sleep

from common import child, page
from common.markdown import table
from common.page import Aim

from serving.server import serving

AIM = 0.050
"""Seconds that the first answer from a warm cache may take."""

_QUESTIONS = ("report", "module", "timeline", "timeline/window")
_REPORT = "`api/report`"
_COMMAND = "`hookview analyze --json`, the whole process"
_SETTLED_S, _AT_MOST_S = 1.0, 60.0
"""A cache that did not change for so long is written; it is not waited for longer than that."""


def measure(
    logdir: Path, which: dict[str, str], cache: Path, repeats: int
) -> tuple[list[str], list[Aim]]:
    """Measure cold and warm, and fill the cache between."""
    path = next(logdir.rglob("*.pt.trace.json*"))
    asked = _asked(logdir, which)
    cold, warm = _runs(logdir, path, "off", asked, repeats), {}
    if _filled(logdir, path, cache, asked):
        warm = _runs(logdir, path, str(cache), asked, repeats)
    rows = [[name, _cell(cold[name]), _cell(warm.get(name, []))] for name in cold]
    head = ["first answer, ms: fastest, median, slowest", "without a cache", "from a warm cache"]
    told = warm.get(_REPORT, [])
    found = f"{1000 * median(told):.0f} ms at the median" if told else "nothing was cached"
    wanted = f"first report of a fresh server below {1000 * AIM:.0f} ms from a warm cache"
    return [table(head, rows)], [Aim(wanted, found, median(told) < AIM if told else None)]


def _asked(logdir: Path, which: dict[str, str]) -> dict[str, dict[str, object]]:
    """Route -> query. A module of the trace is asked for, where it has any."""
    with serving(logdir) as server:
        report = json.loads(server.ask("report", plain=True, **which).body)
    window = {"start": 0, "end": max(report["trace"]["duration_us"], 1), "width": 1400}
    asked: dict[str, dict[str, object]] = {route: dict(which) for route in _QUESTIONS}
    asked["timeline/window"] |= window
    if report["modules"]:
        asked["module"]["path"] = report["modules"][-1]["path"]
    else:
        del asked["module"]
    return asked


def _runs(
    logdir: Path,
    path: Path,
    cache: str,
    asked: dict[str, dict[str, object]],
    repeats: int,
) -> dict[str, list[float]]:
    """Seconds by question, each asked of a server of its own."""

    def first(route: str) -> float:
        with serving(logdir, cache) as server:
            # The list comes first in the page too; it parses nothing.
            server.ask("runs")
            return server.ask(route, **asked[route]).seconds

    times: dict[str, Callable[[], float]] = {
        f"`api/{route}`": lambda route=route: first(route) for route in asked
    }
    times[_COMMAND] = lambda: _command(path, cache)
    spent: dict[str, list[float]] = {name: [] for name in times}
    for _ in range(repeats):
        for name, time in times.items():
            spent[name].append(time())
    page.say(f"first answers with HOOKVIEW_CACHE {'off' if cache == 'off' else 'in a folder'}")
    return spent


def _command(path: Path, cache: str) -> float:
    start = perf_counter()
    words = [sys.executable, "-m", "tb_hookview.cli", "analyze", "--json", str(path)]
    environment = child.environment(HOOKVIEW_CACHE=cache)
    subprocess.run(words, env=environment, capture_output=True, timeout=child.LIMIT, check=True)
    return perf_counter() - start


def _filled(logdir: Path, path: Path, cache: Path, asked: dict[str, dict[str, object]]) -> bool:
    """Have everything asked once with an empty cache; False where nothing is written."""
    _command(path, str(cache))
    with serving(logdir, str(cache)) as server:
        for route, query in asked.items():
            server.ask(route, **query)
        _settle(cache)
    return _size(cache) > 0


def _settle(cache: Path) -> None:
    """Wait until the server has written what it keeps."""
    begin, before = monotonic(), -1
    while _size(cache) != before and monotonic() - begin < _AT_MOST_S:
        before = _size(cache)
        sleep(_SETTLED_S)


def _size(cache: Path) -> int:
    return sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())


def _cell(seconds: list[float]) -> str:
    if not seconds:
        return "nothing was cached"
    return ", ".join(f"{1000 * of(seconds):,.0f}" for of in (min, median, max))
