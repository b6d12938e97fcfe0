"""Paths that documents name exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTED = ("tb_hookview", "tests", "frontend", "benchmarks")
MADE = {
    "build/site/",
    "build/mutants/",
    "frontend/node_modules",
    "tb_hookview/static/",
    "tests/fuzz/found/",
}
"""Made by a command that the document names, so not in every checkout."""
NOT_LOOKED_INTO = {"node_modules", "build", "dist", "__pycache__"}
SOURCES = (".py", ".ts", ".md", ".toml", ".css", ".sh")
_QUOTED = re.compile(r"`([\w.*<>/-]+)`")
_BELOW = tuple(f"{folder}/" for folder in (*DOCUMENTED, "docs", "sample_traces"))
_ELSEWHERE = ("/", "~", ".", "api/", "data/plugin/")
"""How a name begins that is a route, a suffix, or a path of the reader's machine."""


def _walk(folder: Path) -> Iterator[Path]:
    """Folders and files of the checkout, hidden and installed ones left out."""
    for entry in os.scandir(folder):
        if entry.name in NOT_LOOKED_INTO or entry.name.startswith("."):
            continue
        yield Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))


PATHS = [f"/{path.relative_to(ROOT).as_posix()}" for path in _walk(ROOT)]
DOCUMENTS = sorted(
    path
    for path in _walk(ROOT)
    if path.suffix == ".md"
    and (path.parent == ROOT or path.relative_to(ROOT).parts[0] in (*DOCUMENTED, "docs"))
)


def named_paths(text: str) -> Iterator[str]:
    """What a text quotes as a path of the checkout: a source file, or below a known folder."""
    for name in _QUOTED.findall(text):
        if name.startswith(_ELSEWHERE):
            continue
        if name.endswith((*SOURCES, "/")) or name.startswith(_BELOW):
            yield name


def exists(name: str) -> bool:
    """Whether a path of the checkout ends in a name, where `<...>` is any text."""
    pattern = re.sub("<.*?>", "*", name.rstrip("/"))
    return any(fnmatchcase(path, f"*/{pattern}") for path in PATHS)


def test_paths_exist() -> None:
    named = {path: set(named_paths(path.read_text())) - MADE for path in DOCUMENTS}
    assert [
        (path, name) for path, names in named.items() for name in names if not exists(name)
    ] == []
    assert not exists("tests/gone.py")
