"""Which trace of a folder is read, and what is said about the rest."""

from __future__ import annotations

import os
from pathlib import Path

import grid
import pytest

from tb_hookview.errors import NotFoundError, TraceError, UsageError
from tb_hookview.loading import analyze


def trace(path: Path, modified: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    grid.write(path, grid.events("main ops [aten::mm]"))
    os.utime(path, (modified, modified))
    return path


def test_the_newest_trace_of_a_folder_and_a_word_about_the_others(tmp_path: Path) -> None:
    trace(tmp_path / "a" / "one.100.pt.trace.json", 1000)
    newest = trace(tmp_path / "b" / "two.200.pt.trace.json", 3000)
    trace(tmp_path / "b" / "two.100.pt.trace.json", 2000)
    data = analyze(tmp_path).data
    assert data.trace.path == str(newest)
    about_files = [w for w in data.trace.warnings if w.code != "no-forward-host"]
    assert [(w.code, w.count) for w in about_files] == [("other-traces", 2)]


def test_a_worker_narrows_the_choice(tmp_path: Path) -> None:
    older = trace(tmp_path / "one.100.pt.trace.json", 1000)
    trace(tmp_path / "two.200.pt.trace.json", 2000)
    assert analyze(tmp_path, worker="one").data.trace.path == str(older)
    with pytest.raises(NotFoundError, match="no worker 'three'; there are one, two"):
        analyze(tmp_path, worker="three")


def test_the_worker_of_a_file_is_held_to_it(tmp_path: Path) -> None:
    path = trace(tmp_path / "one.100.pt.trace.json", 1000)
    assert analyze(path, worker="one").data.trace.path == str(path)
    with pytest.raises(NotFoundError, match="no worker 'two'"):
        analyze(path, worker="two")


def test_a_folder_without_traces_and_a_path_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no traces"):
        analyze(tmp_path)
    with pytest.raises(TraceError, match="no such file"):
        analyze(tmp_path / "nowhere", worker="one")
    with pytest.raises(UsageError, match="the path is empty"):
        analyze("")
