"""Runs every measurement that needs a GPU, each in a process of its own with a time limit.

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
from pathlib import Path

from .packing import pack
from .parts import PARTS, Part
from .processes import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where a part failed, 2 for a wrong command."""
    options = _arguments(argv)
    if options.list:
        for part in PARTS:
            print(f"{part.name:<10}{part.title}")
        return 0
    end = time.monotonic() + options.seconds
    failed = False
    for part in _chosen(options.only):
        began = time.monotonic()
        problem = _run(part, options, end - began)
        print(f"{part.name}: {problem or 'done'} ({time.monotonic() - began:.0f} s)", flush=True)
        failed |= problem is not None
        if options.pack:
            pack(options.out, options.pack)
    return int(failed)


def _run(part: Part, options: argparse.Namespace, left: float) -> str | None:
    """Run a part within the time that is left; return what went wrong."""
    seconds = min(part.seconds, left)
    if seconds < 1:
        return "no time left"
    options.out.mkdir(parents=True, exist_ok=True)
    command = part.command(options.out.resolve(), quick=options.quick, seconds=seconds)
    return run(command, options.out / f"{part.name}.log", seconds)


def _chosen(names: Sequence[str]) -> list[Part]:
    return [part for part in PARTS if not names or part.name in names]


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
