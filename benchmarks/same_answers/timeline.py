"""What the page asks about the timeline of a trace; lanes are matched by their order."""

from __future__ import annotations

from typing import Any

from .asking import Asking, Both, Query, spread
from .differences import Kind, Spot
from .walk import Ids

_EVENTS_OF_A_LANE = 2
_EVENTS_OF_A_WINDOW = 12
"""Few, as the server reads the arguments of each from the file."""
_WIDTH = 1200
_SIXTEENTHS = (0, 5, 9, 15)
_DEEP = (0.21, 0.5, 0.77)
"""Where in the trace to look closely, as a part of the whole."""


class TimelineQuestions:
    """Questions about one timeline."""

    def __init__(self, asking: Asking, run: str, worker: str) -> None:
        self._asking, self._run = asking, run
        self._which: Query = [("run", run), ("worker", worker)]
        self._ids = Ids()
        self._asked: set[Any] = set()

    def ask_all(self, report: Any, texts: list[str]) -> None:
        """Layout, windows at several zooms, events of each, searches and sums."""
        lanes = self._lanes()
        if not lanes:
            return
        whole = max(float(report["trace"]["duration_us"]), 1.0)
        for window in _windows(whole):
            self._about_events(self._ask("window", window, [("width", _WIDTH)]))
            self._ask("statistics", window)
        for step in spread(report["steps"], 3):
            start = step["start_us"] - report["trace"]["start_us"]
            self._ask("statistics", (start, start + step["duration_us"]))
        ids = [[("lanes", ",".join(str(lane["id"]) for lane in side[::3]))] for side in lanes]
        self._ask("window", (0.0, whole / 7), [("width", _WIDTH)], ids)
        for text in texts:
            self._ask("search", None, [("q", text)])
        self._ask("search", (whole / 3, whole / 2), [("q", "a"), ("width", 300)], ids)

    def _lanes(self) -> list[list[Any]]:
        """The lanes of both sides; none where they cannot be matched by their order."""
        layouts = self._ask("", None)
        if not all(isinstance(layout, dict) and "lanes" in layout for layout in layouts):
            return []
        kinds = [[lane["kind"] for lane in layout["lanes"]] for layout in layouts]
        if kinds[0] != kinds[1]:
            spot = Spot("GET api/timeline", ".lanes", Kind.UNMATCHED)
            self._asking.differences.note(spot, self._run, "kinds of lanes in order", *kinds)
            return []
        return [layout["lanes"] for layout in layouts]

    def _about_events(self, windows: Both) -> None:
        """Ask for some events of each lane, each side by its own id."""
        sides = [window.get("lanes", []) for window in windows]
        chosen: list[tuple[Any, Any]] = []
        for old, new in zip(*sides, strict=False):
            pairs = list(zip(old["event"], new["event"], strict=False))
            pairs = [pair for pair in pairs if -1 not in pair and pair[0] not in self._asked]
            chosen += spread(pairs, _EVENTS_OF_A_LANE)
        for one, two in spread(chosen, _EVENTS_OF_A_WINDOW):
            self._asked.add(one)
            self._ask("event", None, [], [[("id", one)], [("id", two)]])

    def _ask(
        self,
        part: str,
        window: tuple[float, float] | None,
        query: Query | None = None,
        own: list[Query] | None = None,
    ) -> Both:
        """Ask both servers; `own` is what each calls by names of its own."""
        common = [*self._which, *(query or [])]
        if window:
            common += [("start", window[0]), ("end", window[1])]
        queries = [[*common, *mine] for mine in (own or [[], []])]
        route = f"api/timeline/{part}".removesuffix("/")
        # The ids of devices in statistics are the trace's own.
        ids = None if part == "statistics" else self._ids
        return self._asking.ask(route, self._run, queries[0], queries[1], ids)


def _windows(whole: float) -> list[tuple[float, float]]:
    windows = [(0.0, whole), (-10.0, whole / 3)]
    windows += [(whole * at / 16, whole * (at + 1) / 16) for at in _SIXTEENTHS]
    return windows + [(whole * at, whole * at + whole / 2048) for at in _DEEP]
