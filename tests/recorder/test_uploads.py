"""Recordings into an address: uploaded while the training goes on, waited for at the end."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
import torch
from support.recording import Trace
from torch.profiler import schedule

import tb_hookview as hookview
from tb_hookview.recorder import writing

pytest.importorskip("fsspec", reason="needs fsspec: pip install fsspec")
ADDRESS = "memory://bucket/run"
SECONDS = 60
"""Longest wait of a test that fails."""


def trained(steps, **options):
    """A profiler that has ended a recording of every second step."""
    every_second = schedule(wait=0, warmup=1, active=1)
    profiler = hookview.profile(ADDRESS, schedule=every_second, **options)
    profiler.start()
    for _ in range(steps):
        torch.ones(1).add(1)
        profiler.step()
    return profiler


def test_the_training_goes_on_until_the_profiler_stops(monkeypatch):
    go, uploaded = threading.Event(), []

    def put(file: Path, address: str) -> None:
        assert go.wait(SECONDS)
        assert Trace(file).named("aten::add")
        uploaded.append((file, address))

    monkeypatch.setattr(writing, "put", put)
    profiler = trained(2)
    assert (uploaded, profiler.written) == ([], [])
    go.set()
    profiler.stop()
    ((file, address),) = uploaded
    assert profiler.written == [address] == [f"{ADDRESS}/{file.name}"]
    assert not file.parent.exists()


def test_the_next_recording_waits_for_the_one_before(monkeypatch):
    seen = []
    monkeypatch.setattr(writing, "put", lambda _, address: seen.append(address))
    profiler = trained(4)
    profiler.stop()
    assert profiler.written == seen
    assert len(set(seen)) == 2


def test_what_is_called_then_has_the_file(monkeypatch):
    seen = []
    monkeypatch.setattr(writing, "put", lambda *_: None)
    profiler = trained(2, on_trace_ready=lambda profiler: seen.extend(profiler.written))
    assert len(seen) == 1
    profiler.stop()


@pytest.mark.parametrize("threads", [True, False], ids=["in a thread", "at the end of the process"])
def test_what_cannot_be_uploaded_is_kept_and_one_line_says_so(
    monkeypatch, expected_fault, recwarn, capfd, threads
):
    def fail(*_: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(writing, "put", fail)
    if not threads:

        def refuse(_: threading.Thread) -> None:
            raise RuntimeError("can't create new thread at interpreter shutdown")

        refusing = type("Thread", (threading.Thread,), {"start": refuse})
        monkeypatch.setattr(writing, "Thread", refusing)
    profiler = trained(2)
    profiler.stop()
    (kept,) = profiler.written
    (message,) = [str(each.message) for each in recwarn if each.category is RuntimeWarning]
    assert "could not be uploaded (no network)" in message
    assert str(kept) in message
    assert Trace(kept).named("aten::add")
    assert f"wrote {kept} (" in capfd.readouterr().err
    shutil.rmtree(kept.parent)
