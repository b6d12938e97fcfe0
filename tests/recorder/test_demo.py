"""The recorded demo run, on the CPU."""

from __future__ import annotations

import pytest
import torch
from support.recording import Trace

from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.recorder import demo


def test_it_records_the_steps_it_says(tmp_path):
    said: list[str] = []
    before = torch.random.get_rng_state()
    path = demo.record_demo(tmp_path / "run", steps=2, device="cpu", say=said.append)
    assert path.parent == tmp_path / "run"
    assert path.stat().st_size < 2_000_000
    assert torch.equal(torch.random.get_rng_state(), before)
    trace = Trace(path)
    assert trace.paths("forward")["patch_drop"] == 2
    assert trace.paths("forward")["loss"] == 2
    assert trace.paths("gradient")["blocks.3.attn.qkv"] == 4
    assert len(trace.named("ProfilerStep#2")) == len(trace.named("ProfilerStep#3")) == 1
    assert any(span.name.endswith("GatherBackward0") for span in trace.spans)
    assert said[-1] == f"wrote {path.name}"


def test_no_steps_are_refused(tmp_path):
    with pytest.raises(UsageError, match="steps is 0"):
        demo.record_demo(tmp_path, steps=0)


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path, expected_fault):
    (tmp_path / "file").touch()
    with pytest.warns(RuntimeWarning), pytest.raises(HookviewError, match="no trace was written"):
        demo.record_demo(tmp_path / "file" / "run", steps=1, device="cpu")
