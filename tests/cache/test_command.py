"""`hookview cache`."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from shared_traces import not_a_trace, shared_trace
from support.command import call

from tb_hookview.cache import Cache, program
from tb_hookview.cli import filling
from tb_hookview.loading import analyze, load
from tb_hookview.trace import LocalFile, reader


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces are read by a thread of this process, for tests that are about no other process."""
    monkeypatch.setattr(filling, "Workers", lambda *_, **__: ThreadPoolExecutor(1))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("hta_mi250_minitoy_training", "tracelens_h100_bert_small", "hta_cpu_only"):
        shutil.copy(shared_trace(name), folder)
    return folder


def test_the_cache_is_told_of_and_cleared(cache: Cache, runs: Path) -> None:
    assert call("cache").stdout.splitlines() == [
        f"folder   {cache.folder}",
        "entries  0",
        "size     0 bytes",
        "limit    4.0 GiB",
    ]
    cache.put("kind", [bytes(1536 - 64)], "a")
    told = call("cache", HOOKVIEW_CACHE_LIMIT="500M").stdout.splitlines()[1:]
    assert told == ["entries  1", "size     1.5 KiB", "limit    500 MiB"]
    assert call("cache", "clear").stdout == "removed 1 entry, 1.5 KiB\n"
    assert call("cache", "clear").stdout == "removed 0 entries, 0 bytes\n"


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"HOOKVIEW_CACHE": "off"}, "caching is off"),
        ({"HOOKVIEW_CACHE_LIMIT": "x"}, "not a size"),
    ],
)
@pytest.mark.parametrize("command", [[], ["clear"], ["fill", "."]])
def test_no_cache_is_one_line(
    folder: Path, environment: dict[str, str], words: str, command: list[str]
) -> None:
    done = call("cache", *command, **environment)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert words in line


@pytest.mark.usefixtures("read_here")
def test_all_traces_are_read_and_the_bad_ones_told_of(
    cache: Cache, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(not_a_trace("hta_execution_trace"), runs / "no_trace.json.gz")
    (runs / "cut.json.gz").write_bytes((runs / "hta_cpu_only.json.gz").read_bytes()[:900])
    done = call("cache", "fill", runs, runs / "none", runs / "hta_cpu_only.json.gz")
    assert done.returncode == 2
    assert "5 traces, 3 read and cached" in done.stdout
    named = sorted(Path(line.split(":")[1].strip()).name for line in done.stderr.splitlines())
    assert named == ["cut.json.gz", "no_trace.json.gz", "none"]
    # Its columns too are kept of the one that is not small.
    assert sorted(path.suffix for path in cache.folder.iterdir()) == [
        ".columns",
        *[".outline"] * 3,
        *[".report"] * 6,
    ]

    program.cache_clear()  # somebody may be at work on the sources
    monkeypatch.setattr(reader, "read_trace", None)
    for name in ("hta_mi250_minitoy_training", "tracelens_h100_bert_small", "hta_cpu_only"):
        analyze(runs / f"{name}.json.gz")
    load(runs / "tracelens_h100_bert_small.json.gz")


@pytest.mark.usefixtures("read_here")
def test_what_is_kept_is_not_read_again(cache: Cache, runs: Path) -> None:
    assert "3 traces, 3 read" in call("cache", "fill", runs).stdout
    again = call("cache", "fill", runs)
    assert "3 traces, 0 read" in again.stdout
    assert (again.returncode, again.stderr) == (0, "")
    for path in cache.folder.glob("*.columns"):
        path.unlink()
    assert "3 traces, 1 read" in call("cache", "fill", runs).stdout


@pytest.mark.usefixtures("read_here")
def test_a_trace_that_is_too_large_for_the_cache_is_told_of(cache: Cache, runs: Path) -> None:
    done = call("cache", "fill", runs, HOOKVIEW_CACHE_LIMIT="50k")
    assert done.returncode == 2
    assert re.fullmatch(r"hookview: .*tracelens_h100.*cannot be cached; .*\n", done.stderr)


@pytest.mark.usefixtures("read_here")
def test_a_cache_that_cannot_be_written_is_told_of(folder: Path, runs: Path) -> None:
    folder.write_text("no folder")
    done = call("cache", "fill", runs)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 3
    assert all("cannot be cached (" in line for line in done.stderr.splitlines())


def test_names_that_are_no_text(cache: Cache, runs: Path) -> None:
    (runs / "hta_cpu_only.json.gz").rename(runs / "a b\udcff.json.gz")
    done = call("cache", "fill", runs, "--workers", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 traces, 3 read" in done.stdout


def test_nothing_is_imported_from_the_folder_of_the_traces(cache: Cache, runs: Path) -> None:
    marker = runs / "imported"
    for name in ("numpy.py", "json.py", "tb_hookview.py", "sitecustomize.py"):
        (runs / name).write_text(f"open({str(marker)!r}, 'w')")
    command = Path(sys.executable).with_name("hookview")
    if not command.exists():
        pytest.skip("the command is not installed beside this Python")
    done = subprocess.run([command, "cache", "fill", "."], cwd=runs, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert not marker.exists()


DIES = """
import os, signal
from tb_hookview.cli import filling

def fill_or_die(file):
    if "minitoy" in file.name:
        os.kill(os.getpid(), signal.SIGKILL)
    return filling.fill_one(file)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_dies_takes_no_other_trace_along(
    cache: Cache, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    (tmp_path / "dying.py").write_text(DIES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(filling, "fill_one", importlib.import_module("dying").fill_or_die)
    files = [LocalFile(path) for path in (*sorted(runs.iterdir()), runs / "none.json")]
    outcomes = list(filling.fill(files, cache.folder, workers))
    assert sum(outcome.added for outcome in outcomes) == 2
    died, gone = sorted((outcome.problem for outcome in outcomes if outcome.problem), key=len)[::-1]
    assert "minitoy" in died
    assert "ended by SIGKILL" in died
    assert "no such file" in gone


@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="this system does not list the children of a task"
)
def test_who_stops_listening_leaves_no_process(cache: Cache, runs: Path) -> None:
    files = [LocalFile(path) for path in sorted(runs.iterdir())] * 20
    others = _children()  # what other tests of this process left running
    outcomes = filling.fill(files, cache.folder, 2)
    next(outcomes)
    assert _children() - others
    outcomes.close()  # type: ignore[attr-defined]
    assert not _children() - others


def _children() -> set[int]:
    found = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {int(child) for path in found for child in path.read_text().split()}
