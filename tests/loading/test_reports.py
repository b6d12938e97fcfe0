"""Reports and analyses are the same with the cache as without it, and cost less."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from shared_traces import shared_trace

import tb_hookview as hookview
from tb_hookview.cache import Cache, source_of
from tb_hookview.errors import NotFoundError, TraceError
from tb_hookview.loading import cached_reader, load
from tb_hookview.report.build import build_report
from tb_hookview.schema import COUNTED
from tb_hookview.trace import LocalFile, reader

Written = Callable[[], None]


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The traces that were read, one entry for each time."""
    made: list[object] = []
    real = reader.read_trace

    def counted(*args: object, **more: object) -> object:
        made.append(args)
        return real(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "read_trace", counted)
    return made


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A trace whose columns are worth keeping; two steps."""
    return Path(shutil.copy(shared_trace("tracelens_h100_bert_small.json.gz"), tmp_path))


@pytest.fixture
def stepped(tmp_path: Path) -> Path:
    return Path(shutil.copy(shared_trace("hta_mi250_minitoy_training.json.gz"), tmp_path))


def uncached(monkeypatch: pytest.MonkeyPatch, path: Path, **options: object) -> str:
    with monkeypatch.context() as context:
        context.setenv("HOOKVIEW_CACHE", "off")
        return hookview.analyze(path, **options).to_json()  # type: ignore[arg-type]


def test_a_trace_is_read_once(
    cache: Cache, written: Written, readings: list[object], large: Path
) -> None:
    hookview.analyze(large)
    written()
    hookview.analyze(large)
    seen: list[int] = []
    analysis = load(large, count=seen.append)
    assert len(readings) == 1
    assert seen == [analysis.trace.event_count]
    assert {path.suffix for path in cache.folder.iterdir()} == {".columns", ".outline", ".report"}


def test_the_steps_that_count_are_asked_of_the_same_reading(
    monkeypatch: pytest.MonkeyPatch, readings: list[object], stepped: Path
) -> None:
    monkeypatch.setenv("HOOKVIEW_CACHE", "off")
    report = hookview.analyze(stepped)
    counted = report.counted
    assert len(readings) == 1
    assert counted.data == hookview.analyze(stepped, steps=[COUNTED]).data
    assert counted.data.per_step == report.data.per_step


def test_the_steps_that_count_are_cached(
    cache: Cache, written: Written, readings: list[object], stepped: Path
) -> None:
    report = hookview.analyze(stepped)
    written()
    assert report.counted.data == hookview.analyze(stepped).counted.data
    assert len(readings) == 1


def test_columns_of_a_small_trace_are_not_kept(
    cache: Cache, written: Written, stepped: Path
) -> None:
    hookview.analyze(stepped)
    written()
    assert {path.suffix for path in cache.folder.iterdir()} == {".outline", ".report"}


def test_steps_are_a_question_of_their_own(
    cache: Cache, written: Written, monkeypatch: pytest.MonkeyPatch, stepped: Path
) -> None:
    names = [step.name for step in hookview.analyze(stepped).steps]
    for steps in ([names[0]], [names[1]], names, []):
        plain = uncached(monkeypatch, stepped, steps=steps)
        for _ in range(2):
            assert hookview.analyze(stepped, steps=steps).to_json() == plain
            written()
    with pytest.raises(NotFoundError, match="no step 'none'"):
        hookview.analyze(stepped, steps=["none"])


def test_path_and_neighbours_are_those_of_now(
    cache: Cache, written: Written, tmp_path: Path, stepped: Path
) -> None:
    hookview.analyze(stepped)
    written()
    run = tmp_path / "run"
    run.mkdir()
    for name in ("a.json.gz", "b.json.gz", "c\udcff.json.gz"):
        shutil.copy(stepped, run / name)
    moved = hookview.analyze(run / "a.json.gz").data.trace
    assert (moved.path, moved.warnings) == (str(run / "a.json.gz"), [])
    assert json.loads(hookview.analyze(run / "c\udcff.json.gz").to_json())["trace"][
        "path"
    ].endswith("c?.json.gz")
    (warning,) = hookview.analyze(run).data.trace.warnings
    assert (warning.code, warning.count) == ("other-traces", 2)
    cached_reader = [path for path in cache.folder.iterdir() if path.suffix == ".report"]
    assert len(cached_reader) == 2  # of the whole, and of the measured steps


def test_a_trace_written_anew_is_read_anew(
    cache: Cache, written: Written, readings: list[object], large: Path, stepped: Path
) -> None:
    before = hookview.analyze(large).data.trace.events
    written()
    shutil.copy(stepped, large)
    assert hookview.analyze(large).data.trace.events != before
    assert len(readings) == 2


def test_a_trace_replaced_while_it_is_read_is_not_taken_for_the_other(
    cache: Cache, written: Written, monkeypatch: pytest.MonkeyPatch, large: Path, stepped: Path
) -> None:
    first, second = (uncached(monkeypatch, path) for path in (large, stepped))
    real = reader.read_trace

    def replaced(file: LocalFile, *rest: object, **more: object) -> object:
        found = real(file, *rest, **more)  # type: ignore[arg-type]
        shutil.copy(stepped, file.path)
        return found

    with monkeypatch.context() as context:
        context.setattr(reader, "read_trace", replaced)
        assert hookview.analyze(large).to_json() == first
    written()
    assert cache.usage().entries == 0
    assert hookview.analyze(large).to_json() == second.replace(str(stepped), str(large))


def damage_nothing(folder: Path) -> None:
    """The folder is as it was."""


def damage_bytes(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-9] + b"otherwise")


def damage_lengths(folder: Path) -> None:
    for path in folder.iterdir():
        os.truncate(path, path.stat().st_size // 2)


def damage_files(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
        path.mkdir()


def damage_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("no folder")


@pytest.mark.parametrize(
    "damage", [damage_nothing, damage_bytes, damage_lengths, damage_files, damage_folder]
)
def test_whatever_is_wrong_with_the_cache_the_report_is_right(
    cache: Cache,
    written: Written,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    large: Path,
    damage: Callable[[Path], None],
) -> None:
    plain = uncached(monkeypatch, large)
    hookview.analyze(large)
    written()
    damage(cache.folder)
    for _ in range(2):
        assert hookview.analyze(large).to_json() == plain
        assert build_report(load(large)).to_json() == plain
        written()
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b"[" * 3000, b'{"schema":1}'])
def test_a_report_that_is_none_is_made_anew(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, stepped: Path, content: bytes
) -> None:
    source = source_of(LocalFile(stepped), cache)
    assert source is not None
    source.put(cached_reader.KIND, [content])
    assert hookview.analyze(stepped).to_json() == uncached(monkeypatch, stepped)


def test_what_cannot_be_read_is_an_error_with_the_cache_too(cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "no.json"
    path.write_text("{}")
    for _ in range(2):
        with pytest.raises(TraceError, match="not a PyTorch trace"):
            hookview.analyze(path)
    with pytest.raises(TraceError, match="no such file"):
        hookview.analyze(tmp_path / "none.json")
    assert cache.usage().entries == 0


WARM = """
import sys
import tb_hookview

tb_hookview.analyze(sys.argv[1])
print(*sorted({"numpy", "tb_hookview.trace.reader"} & set(sys.modules)))
"""


def test_a_cached_report_is_loaded_without_numpy(
    cache: Cache, written: Written, stepped: Path
) -> None:
    def loaded() -> list[str]:
        command = [sys.executable, "-c", WARM, str(stepped)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        return done.stdout.split()

    assert loaded() == ["numpy", "tb_hookview.trace.reader"]
    assert loaded() == []


COLD = """
import sys
import isal.igzip, isal.isal_zlib, msgspec, numpy

others = set(sys.modules)
import tb_hookview

tb_hookview.analyze(sys.argv[1]).to_json()
rare = {"bz2", "dataclasses", "html", "logging", "subprocess", "tb_hookview.tables.catalogue"}
print(*sorted(rare & (set(sys.modules) - others)))
"""


def test_a_report_is_made_without_what_few_need(
    monkeypatch: pytest.MonkeyPatch, stepped: Path
) -> None:
    monkeypatch.setenv("HOOKVIEW_CACHE", "off")
    command = [sys.executable, "-c", COLD, str(stepped)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == []
