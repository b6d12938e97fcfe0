"""The page that the programs write: each between its own markers, and its rows of the aims."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from common import machine
from common.markdown import table, text

_AIMS = "aims"
_HEAD = ("aim", "measured", "verdict", "by")


class Aim(NamedTuple):
    """Something that is to hold, and whether it did."""

    wanted: str
    found: str
    holds: bool | None
    """None where it could not be measured, or what was measured leaves it open."""


def arguments_of(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that all programs share."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less of everything, to try it")
    parser.add_argument("--write", type=Path, help="Markdown file with the markers")
    return parser


def positive(text: str) -> int:
    """An option that is a whole number above 0."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def parsed(
    parser: argparse.ArgumentParser, program: str, argv: Sequence[str] | None = None
) -> argparse.Namespace:
    """The options; ends the program where the file to write has no place for what it measures."""
    arguments = parser.parse_args(argv)
    for name in (program, _AIMS) if arguments.write else ():
        if not _has_place(arguments.write, name):
            begin, end = _markers(name)
            parser.error(f"{arguments.write}: has no lines {begin} and {end} to write between")
    return arguments


def measured_on(program: str, argv: Sequence[str], load: float) -> str:
    """The line above the tables: date, machine, load and command."""
    today = datetime.datetime.now(datetime.timezone.utc)
    command = " ".join([f"python benchmarks/{program}.py", *map(_without_folder, argv)])
    return (
        f"{today:%Y-%m-%d}. {machine.describe()}. Load average before the run: {load:.1f}. "
        f"`{command}`"
    )


def load_now() -> float:
    """Load average of the last minute."""
    return os.getloadavg()[0]


def say(line: str) -> None:
    """Tell how far the program is, without getting into the tables."""
    print(line, file=sys.stderr, flush=True)


def publish(program: str, parts: Sequence[str], aims: Sequence[Aim], path: Path | None) -> None:
    """Print what was measured, and write it where it belongs."""
    block = "\n\n".join(parts)
    print(block)
    if aims:
        print(f"\n{table(_HEAD, rows(program, aims), left=4)}")
    if path:
        page = path.read_text(encoding="utf-8")
        page = replaced(page, program, block)
        path.write_text(replaced(page, _AIMS, _with_aims(page, program, aims)), encoding="utf-8")


def rows(program: str, aims: Sequence[Aim]) -> list[list[str]]:
    """The aims as cells."""
    verdicts = {True: "holds", False: "**does not hold**", None: "open"}
    by = f"`{program}.py`"
    return [[text(aim.wanted), text(aim.found), verdicts[aim.holds], by] for aim in aims]


def _with_aims(page: str, program: str, aims: Sequence[Aim]) -> str:
    """The table of all aims, with those of one program in place of what it said before."""
    lines = _between(page, _AIMS).strip().splitlines()[2:]
    mine = [line.endswith(f"| `{program}.py` |") for line in lines]
    place = mine.index(True) if True in mine else len(lines)
    others = [line for line, own in zip(lines, mine, strict=True) if not own]
    new = table(_HEAD, rows(program, aims), left=4).splitlines()
    return "\n".join([*new[:2], *others[:place], *new[2:], *others[place:]])


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- {name}:begin -->", f"<!-- {name}:end -->"


def _has_place(path: Path, name: str) -> bool:
    content = path.read_text(encoding="utf-8") if path.is_file() else ""
    begin, end = _markers(name)
    return 0 <= content.find(begin) < content.find(end)


def _between(page: str, name: str) -> str:
    begin, end = _markers(name)
    return page.split(begin, 1)[1].split(end, 1)[0]


def replaced(page: str, name: str, block: str) -> str:
    """A page with a block of text between the markers of that name."""
    begin, end = _markers(name)
    before, rest = page.split(begin, 1)
    return f"{before}{begin}\n\n{block}\n\n{end}{rest.split(end, 1)[1]}"


def _without_folder(argument: str) -> str:
    path = Path(argument)
    return path.name if path.is_absolute() else argument
