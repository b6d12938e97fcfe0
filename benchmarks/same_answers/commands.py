"""Runs the commands of both checkouts on every trace and compares what they print and write."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .asking import compare_replies
from .checkout import Checkout, Reply
from .differences import Differences
from .exports import compare_exports

FORMATS = ("pftrace", "parquet", "csv")
_PAIRS_APART = 4
"""Every how many traces two are compared by command; the server compares all neighbours."""


@dataclass
class Command:
    """One command for both checkouts; `{out}` in its words is the file to write."""

    where: str
    trace: str
    words: list[str]
    out: str = ""

    def start(self, sides: Sequence[Checkout], pool: ThreadPoolExecutor) -> list[Future[Reply]]:
        """Start it in both checkouts."""
        return [pool.submit(self._run, side) for side in sides]

    def _run(self, side: Checkout) -> Reply:
        return side.command(
            *(word.replace("{out}", str(side.work / self.out)) for word in self.words)
        )


def run_commands(
    sides: Sequence[Checkout],
    differences: Differences,
    traces: Sequence[tuple[str, Path, list[str]]],
    jobs: int,
) -> None:
    """Run all commands for the traces (name, file, steps), and compare as they end."""
    with ThreadPoolExecutor(jobs) as pool:
        running = [(command, command.start(sides, pool)) for command in _commands(traces)]
        for command, futures in running:
            replies = [future.result() for future in futures]
            compare_replies(differences, command.where, command.trace, replies)
            if command.out:
                paths = [side.work / command.out for side in sides]
                compare_exports(differences, command.where, command.trace, *paths)
                for path in paths:
                    _remove(path)


def _commands(traces: Sequence[tuple[str, Path, list[str]]]) -> Iterator[Command]:
    yield Command("rules", "", ["rules", "--json"])
    for name, path, steps in traces:
        yield Command("analyze", name, ["analyze", str(path), "--json"])
        for step in steps[:1]:
            yield Command("analyze", name, ["analyze", str(path), "--json", "--step", step])
        for ending in FORMATS:
            out = f"{name}.{ending}"
            words = ["export", str(path), "-o", "{out}"]
            yield Command(f"export {ending}", name, words, out)
    for at in range(0, len(traces) - 1, _PAIRS_APART):
        (one, base, _), (two, other, _) = traces[at : at + 2]
        yield Command("diff", f"{one} and {two}", ["diff", str(base), str(other), "--json"])


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
