"""What the recorder notes of the host: garbage collections, and the cores of the process."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import torch
from support.recording import traces

import tb_hookview as hookview
from tb_hookview import markers
from tb_hookview.loading import load
from tb_hookview.recorder import manifest


def test_collections_are_marked_while_it_records_and_not_after(tmp_path: Path) -> None:
    model = hookview.wrap(torch.nn.Linear(4, 4))
    before = list(gc.callbacks)
    with hookview.profile(tmp_path):
        model(torch.ones(1, 4)).sum().backward()
        gc.collect()
        gc.collect(0)
    assert gc.callbacks == before
    (file,) = traces(tmp_path)
    trace = load(file).trace
    names = [trace.strings[int(name)] for name in trace.events.name]
    assert f"{markers.COLLECTION}2" in names
    assert f"{markers.COLLECTION}0" not in names
    assert trace.manifest is not None
    assert trace.manifest.host is not None
    assert trace.manifest.host.threads == torch.get_num_threads()


@pytest.mark.parametrize(
    ("text", "most"), [("50000 100000\n", 0.5), ("max 100000\n", None), ("", None), ("1 0", None)]
)
def test_a_containers_limit(tmp_path: Path, text: str, most: float | None) -> None:
    limit = tmp_path / "cpu.max"
    unlimited = manifest.cores(limit)
    limit.write_text(text)
    assert manifest.cores(limit) == (unlimited if most is None else most)


@pytest.mark.parametrize(("text", "count"), [("4", 4), ("", 1), ("0", 1), ("x", 1)])
def test_processes_as_a_launcher_counts_them(
    monkeypatch: pytest.MonkeyPatch, text: str, count: int
) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", text)
    assert manifest._processes() == count
