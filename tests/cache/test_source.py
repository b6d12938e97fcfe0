"""What tells one state of a file from another, and what is kept of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import tb_hookview
from tb_hookview.cache import Cache, Source, entries, later, opened, program
from tb_hookview.cache import source_of as cached_source
from tb_hookview.cache.entries import state_of
from tb_hookview.trace import LocalFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_bytes(b"one" * 100)
    return path


def source_of(path: Path) -> Source:
    source = cached_source(LocalFile(path), opened())
    assert source is not None
    return source


def set_times_of(path: Path, like: os.stat_result) -> None:
    os.utime(path, ns=(like.st_atime_ns, like.st_mtime_ns))


def test_the_content_counts_and_not_name_or_time(cache: Cache, path: Path) -> None:
    source_of(path).put("kind", [b"kept"])
    copy = path.with_name("copy.json")
    copy.write_bytes(path.read_bytes())
    os.utime(copy, (1, 1))
    assert source_of(copy).get("kind") == b"kept"


def test_other_content_of_equal_size_and_time_is_another_file(cache: Cache, path: Path) -> None:
    before = path.stat()
    source_of(path).put("kind", [b"kept"])
    path.write_bytes(b"two" * 100)
    set_times_of(path, before)
    assert source_of(path).get("kind") is None


@pytest.mark.parametrize("place", [0, 1 << 19, -1], ids=["head", "middle", "tail"])
def test_of_a_large_file_samples_size_and_time_count(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(entries, "WHOLE", 1 << 10)
    path = tmp_path / "large.json"
    content = bytearray(entries.STRIPE * 8)
    path.write_bytes(content)
    before, first = path.stat(), entries.fingerprint(LocalFile(path))
    content[place] ^= 1
    path.write_bytes(content)
    set_times_of(path, before)
    second = entries.fingerprint(LocalFile(path))
    os.utime(path, (1, 1))
    third = entries.fingerprint(LocalFile(path))
    path.write_bytes(content + b"x")
    os.utime(path, (1, 1))
    fourth = entries.fingerprint(LocalFile(path))
    assert len({first, second, third, fourth}) == 4


def test_a_large_file_is_not_read_whole(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without holes the file would take a terabyte of this disk, and hours to read."""
    path = tmp_path / "sparse.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert source_of(path).get("kind") is None


def test_a_file_replaced_while_it_was_read_is_not_kept(cache: Cache, path: Path) -> None:
    source, before = source_of(path), path.stat()
    path.write_bytes(b"two" * 100)
    set_times_of(path, before)
    assert not source.put("kind", [b"of the second"])
    path.unlink()
    assert not source.put("kind", [b"of none"])
    assert cache.usage().entries == 0


def test_what_is_no_ordinary_file_is_left_alone(cache: Cache, path: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # to open it would wait for a writer
    for each in (pipe, tmp_path, tmp_path / "none", Path("a\0b")):
        assert cached_source(LocalFile(each), cache) is None


def test_off_is_off(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setenv("HOOKVIEW_CACHE", "off")
    assert opened() is None
    assert cached_source(LocalFile(path), opened()) is None


def test_a_job_that_fails_is_a_line_of_the_log(
    written: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "tb_hookview.cache")

    def fail() -> None:
        raise OSError(28, "No space left on device")

    later(fail)
    written()
    assert [record.levelno for record in caplog.records] == [logging.DEBUG]
    assert "No space left on device" in caplog.text


def test_the_program_is_its_version_and_its_sources(tmp_path: Path) -> None:
    program.cache_clear()  # somebody may be at work on the sources
    assert program() == f"{tb_hookview.__version__} {state_of(Path(tb_hookview.__file__).parent)}"
    (tmp_path / "sub").mkdir()
    source = tmp_path / "sub" / "a.py"
    states = set()
    for change in (
        lambda: None,
        lambda: source.write_text("x = 1"),
        lambda: os.utime(source, (1, 1)),
        lambda: (tmp_path / "b.json").write_text("{}"),
        lambda: source.rename(tmp_path / "sub" / "c.py"),
    ):
        change()
        states.add(state_of(tmp_path))
    assert len(states) == 5
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.py").write_text("")
    assert state_of(tmp_path) in states
