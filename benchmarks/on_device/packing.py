"""Packs results and traces into few files of bounded size."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 15_000_000
_TRACE = ".pt.trace.json.gz"


def pack(out: Path, into: Path) -> list[Path]:
    """Write `results.tar.gz`, and as many `traces_N.tar` as the traces need; return their paths.

    A file of more than `MOST_BYTES` is left out, and named in `left_out.txt` of the results.
    """
    into.mkdir(parents=True, exist_ok=True)
    large = [path for path in _files(out) if path.stat().st_size > MOST_BYTES]
    if large:
        names = "".join(f"{path.relative_to(out)}\n" for path in large)
        (out / "left_out.txt").write_text(names, encoding="utf-8")
    fitting = [path for path in _files(out) if path not in large]
    results = [path for path in fitting if not path.name.endswith(_TRACE)]
    written = [_archive(into / "results.tar.gz", "w:gz", out, results)]
    traces = [path for path in fitting if path.name.endswith(_TRACE)]
    for number, group in enumerate(_groups(traces), 1):
        written.append(_archive(into / f"traces_{number}.tar", "w", out, group))
    return written


def _files(out: Path) -> list[Path]:
    """All files but those of compilers' caches."""
    found = sorted(path for path in out.rglob("*") if path.is_file())
    return [path for path in found if not any(p.suffix == ".inductor" for p in path.parents)]


def _groups(paths: list[Path]) -> Iterator[list[Path]]:
    group: list[Path] = []
    taken = 0
    for path in paths:
        size = path.stat().st_size + 1024  # its header and padding
        if group and taken + size > MOST_BYTES:
            yield group
            group, taken = [], 0
        group.append(path)
        taken += size
    if group:
        yield group


def _archive(path: Path, mode: str, out: Path, files: list[Path]) -> Path:
    partial = path.with_name(f"{path.name}.partial")
    with tarfile.open(partial, mode) as archive:  # type: ignore[call-overload]
        for file in files:
            archive.add(file, str(file.relative_to(out)))
    return partial.replace(path)
