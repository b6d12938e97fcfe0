"""`hookview export` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from support.command import call


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return grid.write(tmp_path / "rank0.1.pt.trace.json", grid.events("main ops [a  ] [b ]"))


def test_says_what_it_made(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.pftrace"
    done = call("export", tmp_path, "-o", out, "--worker", "rank0")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{trace} -> {out}\n"
    assert out.stat().st_size > 100


def test_a_format_can_be_named(trace: Path, tmp_path: Path) -> None:
    done = call("export", trace, "-o", tmp_path / "tables", "--format", "csv")
    assert done.returncode == 0
    assert (tmp_path / "tables" / "events.csv").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("-o", "out.svg"), "no format in its name"),
        (("-o", "out.parquet"), "out.parquet: names the file of one table; add --table NAME"),
        (("-o", "out.csv", "--table", "syncs", "--table", "steps"), "or make a folder of tables"),
        (("-o", "no/out.pftrace"), "no such folder"),
        (("-o", "{trace}", "--format", "perfetto"), "already exists"),
        (("-o", "out.pftrace", "--step", "7"), "no step 'ProfilerStep#7'"),
        (("-o", "out.pftrace", "--worker", "w"), "no worker 'w'"),
    ],
)
def test_errors_are_one_line(
    options: tuple[str, ...], reason: str, trace: Path, tmp_path: Path
) -> None:
    command = [part.format(trace=trace) for part in options]
    command[1] = str(tmp_path / command[1])
    done = call("export", trace, *command)
    assert done.returncode == 2
    assert done.stdout == ""
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_no_trace_leaves_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("[]{")
    done = call("export", bad, "-o", tmp_path / "out.pftrace")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


def test_one_table_becomes_one_file(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "events.csv"
    done = call("export", trace, "-o", out, "--table", "events")
    assert (done.returncode, done.stdout) == (0, f"{trace} -> {out}\n")
    assert out.read_text().startswith('"id","name","kind"')


def test_an_unknown_table_is_an_error_of_one_line(trace: Path, tmp_path: Path) -> None:
    done = call("export", trace, "-o", tmp_path / "a.csv", "--table", "waits")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no table 'waits'" in done.stderr
    assert done.stderr.count("\n") == 1
