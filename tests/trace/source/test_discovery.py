from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

import pytest

from tb_hookview.errors import TraceError
from tb_hookview.trace import LocalFile, find_runs
from tb_hookview.trace.source.runs import FOLLOW_LINKS, Listing, is_offered, list_runs, real_path


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    return path


def shape(logdir: Path) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    return [
        (run.name, [(worker.name, [t.id for t in worker.traces]) for worker in run.workers])
        for run in find_runs(logdir)
    ]


def test_runs_workers_and_traces_newest_first(tmp_path: Path) -> None:
    for name in ("rank2.100", "rank10.100", "rank2.99", "rank2.1000"):
        touch(tmp_path / "vit" / f"{name}.pt.trace.json.gz")
    touch(tmp_path / "vit10" / "w.1.pt.trace.json")
    touch(tmp_path / "vit2" / "w.pt.trace.json")
    assert shape(tmp_path) == [
        ("vit", [("rank2", ["1000", "100", "99"]), ("rank10", ["100"])]),
        ("vit2", [("w", ["w.pt.trace.json"])]),
        ("vit10", [("w", ["1"])]),
    ]


def test_the_log_directory_itself_is_a_run(tmp_path: Path) -> None:
    touch(tmp_path / "w.1.pt.trace.json")
    assert shape(tmp_path) == [(".", [("w", ["1"])])]


def test_other_names_count_only_where_there_is_no_trace_by_name(tmp_path: Path) -> None:
    touch(tmp_path / "config.json")
    assert shape(tmp_path) == [(".", [("config", ["config.json"])])]
    touch(tmp_path / "other.json.gz")
    assert shape(tmp_path) == [(".", [("other", ["other.json.gz"])])]
    touch(tmp_path / "run" / "w.1.pt.trace.json")
    touch(tmp_path / "run" / "settings.json.gz")
    assert shape(tmp_path) == [
        (".", [("other", ["other.json.gz"])]),
        ("run", [("w", ["1"])]),
    ]


def test_a_single_file(tmp_path: Path) -> None:
    path = touch(tmp_path / "host_1.5.pt.trace.json")
    assert shape(path) == [(".", [("host_1", [path.name])])]


def test_links_that_leave_the_log_directory_are_not_followed(tmp_path: Path) -> None:
    outside = touch(tmp_path / "outside" / "secret.1.pt.trace.json")
    logdir = tmp_path / "logs"
    inside = touch(logdir / "run" / "w.1.pt.trace.json")
    (logdir / "run" / "linked.1.pt.trace.json").symlink_to(outside)
    (logdir / "run" / "again.1.pt.trace.json").symlink_to(inside)
    (logdir / "folder").symlink_to(outside.parent)
    assert shape(logdir) == [("run", [("again", ["1"]), ("w", ["1"])])]


def test_links_are_followed_where_the_user_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path / "outside" / "vit" / "w.1.pt.trace.json")
    (tmp_path / "outside" / "again").symlink_to(tmp_path / "outside")
    logdir = tmp_path / "logs"
    logdir.mkdir()
    (logdir / "linked").symlink_to(tmp_path / "outside")
    (logdir / "up").symlink_to(tmp_path)
    (logdir / "round").symlink_to(logdir)
    assert list_runs(logdir) == Listing([], links_left_out=2)
    monkeypatch.setenv(FOLLOW_LINKS, "1")
    assert shape(logdir) == [("linked/vit", [("w", ["1"])])]


def test_links_that_lead_nowhere_do_no_harm(tmp_path: Path) -> None:
    touch(tmp_path / "w.1.pt.trace.json")
    (tmp_path / "self.1.pt.trace.json").symlink_to("self.1.pt.trace.json")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "gone.1.pt.trace.json").symlink_to("nothing")
    assert shape(tmp_path) == [(".", [("w", ["1"])])]


def test_only_regular_files_are_traces(tmp_path: Path) -> None:
    touch(tmp_path / "w.1.pt.trace.json")
    (tmp_path / "folder.1.pt.trace.json").mkdir()
    os.mkfifo(tmp_path / "pipe.1.pt.trace.json")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket.1.pt.trace.json"))
        assert shape(tmp_path) == [(".", [("w", ["1"])])]


def test_a_pipe_is_there_and_is_no_trace(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(TraceError, match=r"neither a file nor a folder; .* to a file first"):
        list_runs(tmp_path / "pipe.json")


def test_a_listed_file_that_becomes_a_link_out_is_not_offered(tmp_path: Path) -> None:
    secret = touch(tmp_path / "secret.json")
    logdir = tmp_path / "logs"
    path = touch(logdir / "run" / "w.1.pt.trace.json")
    assert is_offered(logdir, LocalFile(path))
    path.unlink()
    path.symlink_to(secret)
    assert not is_offered(logdir, LocalFile(path))
    assert is_offered(path, LocalFile(path)), "the user named this very link"


def test_of_many_files_each_folder_is_resolved_once(tmp_path: Path) -> None:
    logdir, outside = tmp_path / "logs", touch(tmp_path / "secret.json")
    paths = [touch(logdir / "run" / f"w{rank}.1.pt.trace.json") for rank in range(5)]
    paths[3].unlink()
    paths[3].symlink_to(outside)
    away = logdir / "away"
    away.symlink_to(outside.parent)
    paths.append(away / outside.name)
    resolved: list[Path] = []

    @cache
    def real(folder: Path) -> Path:
        resolved.append(folder)
        return real_path(folder)

    offered = [is_offered(logdir, LocalFile(path), real) for path in paths]
    assert offered == [True, True, True, False, True, False]
    assert offered == [is_offered(logdir, LocalFile(path)) for path in paths]
    assert sorted(resolved) == sorted([logdir, logdir / "run", away])


def test_hidden_folders_and_empty_ones_hold_no_runs(tmp_path: Path) -> None:
    touch(tmp_path / ".trash" / "w.1.pt.trace.json")
    assert find_runs(tmp_path) == []


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file or folder"):
        find_runs(tmp_path / "nowhere")
