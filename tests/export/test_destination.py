"""Exports appear whole; no part is left over, no file lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest

from tb_hookview.errors import UsageError
from tb_hookview.export import export, format_of

NAMES = {"perfetto": "out.pftrace", "csv": "out"}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    return grid.write(folder / "one.json", grid.events("main ops [a  ] [b ]"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize(("form", "name"), NAMES.items())
def test_only_what_was_asked_for_is_there(form: str, name: str, trace: Path, place: Path) -> None:
    export(trace, place / name, form=form)
    assert [path.name for path in place.iterdir()] == [name]


@pytest.mark.parametrize(("form", "name"), NAMES.items())
def test_nothing_is_replaced_unless_forced(form: str, name: str, trace: Path, place: Path) -> None:
    export(trace, place / name, form=form)
    before = content(place)
    other = grid.write(trace.parent / "other.json", grid.events("main ops [c  ] [d ]"))
    with pytest.raises(UsageError, match="already exists"):
        export(other, place / name, form=form)
    assert content(place) == before
    export(other, place / name, form=form, force=True)
    assert content(place).keys() == before.keys()
    assert content(place) != before


def test_other_files_of_a_folder_stay(trace: Path, place: Path) -> None:
    (place / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        export(trace, place, form="csv")
    export(trace, place, form="csv", force=True)
    assert (place / "mine.txt").read_text() == "mine"
    assert (place / "steps.csv").exists()


def test_an_empty_folder_is_free(trace: Path, place: Path) -> None:
    export(trace, place, form="csv")
    assert (place / "steps.csv").exists()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize(("form", "name"), NAMES.items())
@pytest.mark.parametrize("before", [False, True])
def test_an_export_that_stops_leaves_nothing(
    stop: Any, form: str, name: str, before: bool, trace: Path, place: Path
) -> None:
    if before:
        export(trace, place / name, form=form)
    held = content(place)

    def progress(stage: str, _done: float | None) -> None:
        if stage == "writing":
            raise stop

    with pytest.raises((KeyboardInterrupt, UsageError)) as caught:
        export(trace, place / name, form=form, force=True, progress=progress)
    if caught.type is UsageError:
        assert "No space left on device" in str(caught.value)
    assert content(place) == held
    assert len(list(place.iterdir())) == before


def test_the_trace_itself_is_never_the_output(trace: Path) -> None:
    before = trace.read_bytes()
    with pytest.raises(UsageError, match="the trace itself"):
        export(trace, trace, form="perfetto", force=True)
    assert trace.read_bytes() == before


@pytest.mark.parametrize("form", ["perfetto", "csv"])
def test_a_folder_that_is_not_there(form: str, trace: Path, place: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        export(trace, place / "no" / "out", form=form)


def test_a_file_is_no_folder_nor_the_other_way_round(trace: Path, place: Path) -> None:
    (place / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        export(trace, place / "file", form="csv", force=True)
    with pytest.raises(UsageError, match="is a folder"):
        export(trace, place, form="perfetto", force=True)


def test_the_format_is_told_by_the_name_or_not_at_all(trace: Path, place: Path) -> None:
    names = ("a.pftrace", "a.perfetto-trace", "a.PARQUET", "runs/a.csv")
    assert [format_of(Path(name)) for name in names] == ["perfetto"] * 2 + ["parquet", "csv"]
    with pytest.raises(UsageError, match="--format"):
        export(trace, place / "out.svg")
    with pytest.raises(UsageError, match="no format 'svg'"):
        export(trace, place / "out.svg", form="svg")
