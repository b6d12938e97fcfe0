"""Compares what two checkouts answer about the same traces.

    python -m benchmarks.same_answers BASE OTHER --traces FOLDER [--out FILE.md]

Uses only what is public: the command, the HTTP interface and exported files. Ends with 0 where all
is equal but for added fields, changed words and ids renamed one to one; with 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from .asking import Asking
from .checkout import Checkout
from .commands import run_commands
from .differences import Differences
from .page import page
from .questions import ask_about, compare_traces

_WORKER = "rank0"


def main() -> int:
    """Compare, and write the page."""
    arguments = _arguments()
    began = time.monotonic()
    differences = Differences()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        logdir, names = make_logdir(arguments.traces, work / "logs")
        if not names:
            sys.exit(f"{arguments.traces.name}: holds no .json or .json.gz")
        folders = (arguments.base, arguments.other)
        sides = [Checkout(path, work / f"out{at}") for at, path in enumerate(folders)]
        for side in sides:
            side.check()
        steps = _ask_servers(sides, differences, logdir, list(names))
        _say(f"{time.monotonic() - began:.0f} s: commands")
        traces = [(name, path, steps[name]) for name, path in names.items()]
        run_commands(sides, differences, traces, arguments.jobs)
    text = page(differences, len(names), time.monotonic() - began)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
        _say(text.splitlines()[0].removeprefix("# "))
    else:
        print(text)
    return 0 if differences.equal else 1


def make_logdir(traces: Path, logdir: Path) -> tuple[Path, dict[str, Path]]:
    """A folder with one run a trace, so that all are found; its traces by run."""
    found = sorted([*traces.rglob("*.json"), *traces.rglob("*.json.gz")])
    named: dict[str, Path] = {}
    for source in found:
        inside = source.relative_to(traces)
        name = "-".join(inside.parts).removesuffix(".gz").removesuffix(".json")
        ending = ".json.gz" if source.suffix == ".gz" else ".json"
        run = logdir / name.removesuffix(".pt.trace")
        run.mkdir(parents=True)
        named[run.name] = run / f"{_WORKER}.1.pt.trace{ending}"
        shutil.copyfile(source, named[run.name])
    return logdir, named


def _ask_servers(
    sides: Sequence[Checkout], differences: Differences, logdir: Path, names: Sequence[str]
) -> dict[str, list[str]]:
    """Ask everything over HTTP; return the steps of each trace."""
    steps = {}
    with ExitStack() as stack:
        servers = [stack.enter_context(side.serving(logdir)) for side in sides]
        asking = Asking(servers, differences)
        asking.ask("api/rules", "", [])
        asking.ask("api/runs", "", [])
        asking.ask("api/report", "", [("run", "no such run"), ("worker", _WORKER)])
        for name in names:
            _say(name)
            steps[name] = ask_about(asking, name, _WORKER)
        compare_traces(asking, [(name, _WORKER, found) for name, found in steps.items()])
    return steps


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("base", type=Path, help="checkout whose answers are right")
    parser.add_argument("other", type=Path, help="checkout to compare with it")
    parser.add_argument("--traces", type=Path, required=True, help="folder of traces")
    parser.add_argument("--out", type=Path, help="Markdown file to write")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="commands at a time")
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
