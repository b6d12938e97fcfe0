"""Questions about a trace that the server has read: one client, and several at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from common import page
from common.markdown import table

from serving.clients import Ask, Load, ask_all, in_turn
from serving.server import Answer, Server, serving

_MODULES = 25
"""Modules that are asked for in turn, each of which was asked for before."""

_WIDTH = 1400
_PLACES = 40
"""Windows that are asked for in turn, each a sixteenth of the trace."""

_SEARCHED = ("aten::mm", "copy", "norm", "aten::add", "forward", "gemm", "view", "launch")


def questions(server: Server, which: dict[str, str]) -> dict[str, Ask]:
    """The questions by name; each is asked for once here, so that nothing is read later."""
    report = json.loads(server.ask("report", plain=True, **which).body)
    length = json.loads(server.ask("timeline", plain=True, **which).body)["duration_us"]
    modules = in_turn([module["path"] for module in report["modules"][:_MODULES]] or [""])
    searched = in_turn(_SEARCHED)
    starts = [length * 15 / 16 * place / (_PLACES - 1) for place in range(_PLACES)]

    def window(number: int) -> Answer:
        start = starts[number % _PLACES]
        end = start + length / 16
        return server.ask("timeline/window", **which, start=start, end=end, width=_WIDTH)

    found: dict[str, Ask] = {"report": lambda _: server.ask("report", **which)}
    if report["modules"]:
        found["module"] = lambda number: server.ask("module", **which, path=modules(number))
    found["timeline window"] = window
    found["search"] = lambda number: server.ask("timeline/search", **which, q=searched(number))
    for ask in found.values():
        for number in range(_PLACES):
            ask(number)
    return found


def measure(logdir: Path, which: dict[str, str], clients: Sequence[int], each: int) -> list[str]:
    """One row for each question."""
    with serving(logdir) as server:
        rows = []
        for name, ask in questions(server, which).items():
            loads = [ask_all(ask, number, each) for number in clients]
            rows.append([name, f"{loads[0].size / 1000:,.1f}", *_cells(loads)])
            page.say(f"{name}: {1000 * loads[-1].middle:.1f} ms for {clients[-1]} clients")
    head = ["question", "answer, kB"]
    for number in clients:
        who = f"{number} client{'s' * (number > 1)}"
        head += [f"{who}: median, ms", "95th percentile", "longest", "answers per second"]
    return [table(head, rows)]


def _cells(loads: Sequence[Load]) -> Iterator[str]:
    for load in loads:
        yield from (f"{1000 * value:.1f}" for value in (load.middle, load.late, load.most))
        yield f"{len(load.seconds) / load.whole:,.0f}"
