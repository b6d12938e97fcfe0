"""Runs every measurement that needs a GPU, each in a process of its own with a time limit.

Those whose results are no times run at once, before the others.

    python -m benchmarks.on_device OUT [--only PART]... [--seconds N] [--quick] [--pack DIR]

OUT gets a file of results and a log for each part, and the traces. With --pack, all that is there
is packed again after each part, into few files of at most 15 MB, for a machine from which little
comes back. Without a GPU small sizes show that everything runs, and nothing more.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .packing import pack
from .parts import PARTS, Part
from .processes import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where a part failed, 2 for a wrong command."""
    options = _arguments(argv)
    if options.list:
        for part in PARTS:
            print(f"{part.name:<15}{part.title}")
        return 0
    end = time.monotonic() + options.seconds
    chosen = [part for part in PARTS if not options.only or part.name in options.only]
    together = [part for part in chosen if not part.timed]
    failed = _all(together, options, end)
    for part in chosen:
        if part.timed:
            failed |= _all([part], options, end)
    return int(failed)


def _all(parts: list[Part], options: argparse.Namespace, end: float) -> bool:
    """Run parts at the same time; return whether one failed."""
    if not parts:
        return False
    with ThreadPoolExecutor(len(parts)) as threads:
        failed = list(threads.map(lambda part: _run(part, options, end), parts))
    if options.pack:
        pack(options.out, options.pack)
    return any(failed)


def _run(part: Part, options: argparse.Namespace, end: float) -> bool:
    """Run a part within the time that is left; say how it ended, and return whether it failed."""
    began = time.monotonic()
    problem: str | None = "no time left"
    seconds = min(part.seconds, end - began)
    if seconds >= 1:
        options.out.mkdir(parents=True, exist_ok=True)
        command = part.command(options.out.resolve(), quick=options.quick, seconds=seconds)
        problem = run(command, options.out / f"{part.name}.log", seconds)
    print(f"{part.name}: {problem or 'done'} ({time.monotonic() - began:.0f} s)", flush=True)
    return problem is not None


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "benchmarks.on_device",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT", help="folder for the results")
    names = [part.name for part in PARTS]
    parser.add_argument("--only", action="append", default=[], choices=names, metavar="PART")
    parser.add_argument("--seconds", type=float, default=1700, help="for all of them (1700)")
    parser.add_argument("--quick", action="store_true", help="small sizes and few steps, to try it")
    parser.add_argument("--pack", type=Path, metavar="DIR", help="folder for packed results")
    parser.add_argument("--list", action="store_true", help="list the parts and stop")
    options = parser.parse_args(argv)
    if options.out is None and not options.list:
        parser.error("OUT is needed: the folder for the results")
    return options


if __name__ == "__main__":
    sys.exit(main())
