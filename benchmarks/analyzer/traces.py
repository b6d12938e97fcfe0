"""Which files are measured."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "traces"
"""Real traces recorded by others; beside the checkout, not part of it."""

LARGE = 10_000_000
"""Bytes of JSON above which a file is measured by default."""


def large_traces() -> list[Path]:
    """The large traces of the folder beside the checkout; empty where there is none."""
    found = [*FOLDER.rglob("*.json"), *FOLDER.rglob("*.json.gz")] if FOLDER.is_dir() else []
    return sorted((path for path in found if json_bytes(path) > LARGE), key=json_bytes)


def json_bytes(path: Path) -> int:
    """Bytes of JSON in a file, which gzip notes at its end: the file is not inflated for it."""
    if path.suffix != ".gz":
        return path.stat().st_size
    with path.open("rb") as file:
        file.seek(-4, 2)
        return int.from_bytes(file.read(4), "little")


def label(path: Path) -> str:
    """A short name for tables, which says nothing of where the file lies."""
    name = path.name.removesuffix(".gz").removesuffix(".json").removesuffix(".pt.trace")
    inside = FOLDER in path.resolve().parents and path.resolve().parent != FOLDER
    return f"{path.resolve().parent.name}/{name}" if inside else name
