"""Which files are measured, and larger ones made of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from isal import igzip

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "traces"
"""Real traces recorded by others; next to the checkout, not part of it."""

STACKS = "tracelens_mi300_sd35_with_stacks.json.gz"
"""The trace that a program takes which needs one: the largest there with modules and stacks."""

LARGE = 10_000_000
"""Bytes of JSON above which a file is measured by default."""

_INFLATE = FOLDER.parent / "tools" / "inflate.py"
_UNSURE = (1 << 32) // 64
"""Bytes of gzip from which the JSON in it may be 4 GB or more."""


def large_traces() -> list[Path]:
    """The large traces of the folder next to the checkout; empty where there is none."""
    found = [*FOLDER.rglob("*.json"), *FOLDER.rglob("*.json.gz")] if FOLDER.is_dir() else []
    return sorted((path for path in found if json_bytes(path) > LARGE), key=json_bytes)


def the_trace(named: Path | None) -> Path:
    """The trace that was named, or the one next to the checkout.

    Raises:
        SystemExit: there is no such file.
    """
    path = named or FOLDER / STACKS
    if not path.is_file():
        where = f"{FOLDER.parent.name}/{FOLDER.name}"
        hint = "" if named else f"; no {where} next to the checkout, so name a trace"
        sys.exit(f"{path.name}: no such file{hint}")
    return path.resolve()


def inflate(source: Path, target: Path, copies: int) -> subprocess.Popen[bytes]:
    """Start to write a trace that holds another several times over, one after the other in time.

    Raises:
        SystemExit: the program that does it is not next to the checkout.
    """
    if not _INFLATE.is_file():
        sys.exit(f"no {_INFLATE.parent.name}/{_INFLATE.name} next to ../shared/traces")
    return subprocess.Popen([sys.executable, str(_INFLATE), source, target, str(copies)])


def json_bytes(path: Path) -> int:
    """Bytes of JSON in a file.

    gzip notes them at its end, so that the file is not inflated for it; but no more than the last
    32 bits of the number, so that a large file is, piece by piece.
    """
    if path.suffix != ".gz":
        return path.stat().st_size
    if path.stat().st_size > _UNSURE:
        with igzip.open(path) as inflated:
            return sum(len(piece) for piece in iter(lambda: inflated.read(1 << 20), b""))
    with path.open("rb") as file:
        file.seek(-4, 2)
        return int.from_bytes(file.read(4), "little")


def label(path: Path) -> str:
    """A short name for tables, which says nothing of where the file lies."""
    name = path.name.removesuffix(".gz").removesuffix(".json").removesuffix(".pt.trace")
    folder, parent = FOLDER.resolve(), path.resolve().parent
    inside = folder in parent.parents and parent != folder
    return f"{parent.name}/{name}" if inside else name
