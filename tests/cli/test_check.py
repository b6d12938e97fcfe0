"""`hookview check`: exit code and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shared_traces import shared_trace

import tb_hookview

if TYPE_CHECKING:
    from conftest import Hookview


def test_limits_hold_up_to_their_value(hookview: Hookview, annotated: Path) -> None:
    syncs = [s for s in tb_hookview.analyze(annotated).data.syncs if s.cause != "profiler"]
    count, blocked = len(syncs), sum(sync.duration_us for sync in syncs)
    for option, value in (("--max-syncs", count), ("--max-sync-us", int(blocked) + 1)):
        done = hookview("check", annotated, option, str(value))
        assert (done.returncode, done.stdout.count("ok  ")) == (0, 1)
        done = hookview("check", annotated, option, str(value - 2))
        assert (done.returncode, done.stdout.count("FAIL")) == (1, 1)


def test_a_failure_says_which_and_where(hookview: Hookview, annotated: Path) -> None:
    done = hookview("check", annotated, "--max-backward-syncs", "0", "--max-syncs", "3")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "ok   syncs in backward: 0, limit 0"
    assert lines[1] == "FAIL syncs: 60, limit 3"
    longest = max(tb_hookview.analyze(annotated).data.syncs, key=lambda sync: sync.duration_us)
    assert longest.operator is not None
    assert f"{longest.operator}, {longest.step}, {longest.phase}" in lines[2]
    assert lines[-1].strip() == "... and 55 more"


def test_the_profilers_own_call_is_not_counted(hookview: Hookview, training: Path) -> None:
    report = tb_hookview.analyze(training).data
    assert [sync.cause for sync in report.syncs].count("profiler") == 1
    others = report.totals.sync_count - 1
    assert hookview("check", training, "--max-syncs", str(others)).returncode == 0


def test_steps_narrow_the_check(hookview: Hookview, annotated: Path) -> None:
    done = hookview("check", annotated, "--step", "ProfilerStep#1009", "--max-syncs", "10")
    assert (done.returncode, done.stdout) == (0, "ok   syncs: 10, limit 10\n")


@pytest.mark.parametrize(("limit", "code"), [("100", 0), ("50", 0), ("10", 1)])
def test_the_share_that_is_not_attributed(hookview: Hookview, limit: str, code: int) -> None:
    """Rows were taken out of this trace at random, so that some nodes have no maker."""
    sampled = shared_trace("hta_sampled_rank-0")
    coverage = tb_hookview.analyze(sampled).data.coverage
    share = 100 * (coverage.unattributed_us or 0) / (coverage.backward_device_us or 1)
    assert 10 < share < 50
    done = hookview("check", sampled, "--max-unattributed-percent", limit)
    assert done.returncode == code
    assert f"{share:.6g} %" in done.stdout


def test_a_share_of_nothing_cannot_be_checked(hookview: Hookview, tmp_path: Path) -> None:
    forward = {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1}
    path = tmp_path / "forward.json"
    path.write_text(json.dumps({"traceEvents": [{**forward, "ts": 1, "dur": 2}]}))
    done = hookview("check", path, "--max-unattributed-percent", "5")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no backward pass" in done.stderr
