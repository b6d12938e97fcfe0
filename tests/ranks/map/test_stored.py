"""Summaries of ranks in the cache: the same as those that were read, until a file changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ranks.traces import Spell, write_run
from support.caching import cache, folder

from tb_hookview.cache import Cache, source_of
from tb_hookview.loading import CachedReader
from tb_hookview.ranks import run
from tb_hookview.ranks.map import summary as stored
from tb_hookview.ranks.map.summary import Mapped
from tb_hookview.ranks.run import summarize_file
from tb_hookview.trace.source.file import TraceFile, trace_file

__all__ = ["cache", "folder"]


def summary_of(path: Path) -> Mapped:
    found = summarize_file(trace_file(path))
    assert isinstance(found, Mapped)
    return found


def same(one: object, other: object) -> bool:
    """Whether two summaries hold the same; their arrays do not compare as one."""
    return repr(one) == repr(other)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", [Spell(b=9.0)], numbered=True) / "rank0.1.pt.trace.json.gz"


@pytest.fixture
def readings(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The files whose events are read."""
    read: list[object] = []
    real = CachedReader.analysis

    def analysis(self: CachedReader, file: TraceFile, **more: Any) -> object:
        read.append(file)
        return real(self, file, **more)

    monkeypatch.setattr(run.CachedReader, "analysis", analysis)
    return read


def test_a_trace_is_read_once_for_its_summary(trace: Path, readings: list[object]) -> None:
    first = summary_of(trace)
    assert same(summary_of(trace), first)
    assert first.summary.path == str(trace)
    assert len(readings) == 1


def test_a_changed_trace_is_read_again(trace: Path, readings: list[object]) -> None:
    first = summary_of(trace)
    write_run(trace.parent, [Spell(b=4.0)])
    assert not same(summary_of(trace), first)
    assert len(readings) == 2


def test_a_moved_trace_is_known_by_its_content(trace: Path, readings: list[object]) -> None:
    summary_of(trace)
    moved = trace.rename(trace.with_name("rank9.1.pt.trace.json.gz"))
    assert summary_of(moved).summary.path == str(moved)
    assert len(readings) == 1


@pytest.mark.parametrize("damage", [b"", b"{}", bytes(64)])
def test_a_damaged_entry_is_read_again(
    trace: Path, cache: Cache, readings: list[object], damage: bytes
) -> None:
    first = summary_of(trace)
    source = source_of(trace_file(trace), cache)
    assert source is not None
    source.put(stored.KIND, [damage])
    assert same(summary_of(trace), first)
    assert len(readings) == 2
