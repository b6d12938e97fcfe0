"""`hookview check`: exit code and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shared_traces import shared_trace
from support.command import call

import tb_hookview
from tb_hookview.formats import format_against


@pytest.mark.slow
def test_limits_hold_up_to_their_value(annotated: Path) -> None:
    syncs = [s for s in tb_hookview.analyze(annotated).data.syncs if s.cause != "profiler"]
    count, blocked = len(syncs), sum(sync.duration_us for sync in syncs)
    for option, value in (("--max-syncs", count), ("--max-sync-us", int(blocked) + 1)):
        done = call("check", annotated, option, str(value))
        assert (done.returncode, done.stdout.count("ok  ")) == (0, 1)
        done = call("check", annotated, option, str(value - 2))
        assert (done.returncode, done.stdout.count("FAIL")) == (1, 1)


def test_a_failure_says_which_and_where(annotated: Path) -> None:
    done = call("check", annotated, "--max-backward-syncs", "0", "--max-syncs", "3")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "ok   syncs in backward: 0, limit 0"
    assert lines[1] == "FAIL syncs: 60, limit 3"
    longest = max(tb_hookview.analyze(annotated).data.syncs, key=lambda sync: sync.duration_us)
    assert longest.operator is not None
    assert f"{longest.operator}, {longest.step}, {longest.phase}" in lines[2]
    assert lines[-1].strip() == "... and 55 more"


def test_the_profilers_own_call_is_not_counted(training: Path) -> None:
    report = tb_hookview.analyze(training).data
    assert [sync.cause for sync in report.syncs].count("profiler") == 1
    others = report.totals.sync_count - 1
    assert call("check", training, "--max-syncs", str(others)).returncode == 0


def test_steps_narrow_the_check(annotated: Path) -> None:
    done = call("check", annotated, "--step", "ProfilerStep#1009", "--max-syncs", "10")
    assert (done.returncode, done.stdout) == (0, "ok   syncs: 10, limit 10\n")


@pytest.mark.parametrize(("limit", "code"), [("100", 0), ("50", 0), ("10", 1)])
def test_the_share_that_is_not_attributed(sampled: Path, limit: str, code: int) -> None:
    data = tb_hookview.analyze(sampled).counted.data
    coverage = data.coverage
    share = 100 * (coverage.unattributed_us or 0) / (coverage.backward_device_us or 1)
    assert 10 < share < 50
    done = call("check", sampled, "--max-unattributed-percent", limit)
    assert done.returncode == code
    assert f"{data.per_step.text}: {format_against(share, float(limit))}%" in done.stdout


def test_a_share_of_nothing_cannot_be_checked(tmp_path: Path) -> None:
    forward = {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1}
    path = tmp_path / "forward.json"
    path.write_text(json.dumps({"traceEvents": [{**forward, "ts": 1, "dur": 2}]}))
    done = call("check", path, "--max-unattributed-percent", "5")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no backward pass" in done.stderr


@pytest.mark.parametrize(
    ("trace", "limit", "lacking"),
    [
        ("tracelens_h100_owlv2", "--max-backward-syncs", "no backward pass"),
        ("hta_cpu_only", "--max-syncs", "no device events"),
        ("hta_cpu_only", "--max-backward-syncs", "no backward pass"),
        ("hta_rank_without_gpu", "--max-backward-syncs", "no device events"),
        ("hta_rank_without_gpu", "--max-sync-us", "no device events"),
    ],
)
def test_nothing_to_check_is_not_success(trace: str, limit: str, lacking: str) -> None:
    done = call("check", shared_trace(trace), limit, "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert (done.stderr.count("\n"), lacking in done.stderr) == (1, True)


@pytest.mark.parametrize(("limit", "code"), [("1000", 2), ("0", 1)])
def test_a_limit_that_does_not_hold_goes_before_one_that_cannot_be_checked(
    limit: str, code: int
) -> None:
    """Forward only: its syncs can be counted, those of the backward cannot."""
    path = shared_trace("tracelens_h100_bert_small")
    done = call("check", path, "--max-syncs", limit, "--max-backward-syncs", "0")
    assert done.returncode == code
    assert ("FAIL" in done.stdout) == (code == 1)
    assert "no backward pass" in done.stderr


def test_the_share_of_a_module(annotated: Path) -> None:
    data = tb_hookview.analyze(annotated).counted.data
    whole = data.coverage.total(device=True) or 1.0
    shares = {m.path: 100 * (m.backward.compute_us or 0.0) / whole for m in data.modules}
    path, share = max((item for item in shares.items() if item[1] < 90), key=lambda item: item[1])
    assert share > 1
    for limit, code in ((share + 0.1, 0), (share - 0.1, 1)):
        done = call("check", annotated, "--max-module-percent", f"{path}={limit}")
        text = f": {format_against(share, limit)}%"
        assert (done.returncode, text in done.stdout) == (code, True)


def test_a_module_that_is_not_there_is_named(annotated: Path) -> None:
    done = call("check", annotated, "--max-module-percent", "nowhere=5")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no module 'nowhere'" in done.stderr
    assert call("check", annotated, "--max-module-percent", "nowhere").returncode == 2


def test_idle_time(annotated: Path) -> None:
    data = tb_hookview.analyze(annotated).data
    means = data.per_step
    share = 100 * (means.device_idle_us or 0.0) / (means.duration_us or 0.0)
    assert 1 < share < 99
    for limit, code in ((share + 0.1, 0), (share - 0.1, 1)):
        done = call("check", annotated, "--max-idle-percent", str(limit))
        assert (
            done.returncode,
            f"device idle, {means.text}: {format_against(share, limit)}%" in done.stdout,
        ) == (code, True)


def test_idle_time_of_no_device_cannot_be_checked(tmp_path: Path) -> None:
    operator = {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1}
    path = tmp_path / "host.json"
    path.write_text(json.dumps({"traceEvents": [{**operator, "ts": 1, "dur": 2}]}))
    done = call("check", path, "--max-idle-percent", "5")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no device events" in done.stderr


def test_limits_that_cannot_be_checked_for_one_reason_share_a_line(tmp_path: Path) -> None:
    operator = {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1}
    path = tmp_path / "host.json"
    path.write_text(json.dumps({"traceEvents": [{**operator, "ts": 1, "dur": 2}]}))
    limits = ("--max-syncs", "--max-idle-percent", "--max-backward-syncs")
    done = call("check", path, *(part for limit in limits for part in (limit, "0")))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"hookview: cannot check --max-syncs, --max-idle-percent: {path}: no device events",
        f"hookview: cannot check --max-backward-syncs: {path}: no backward pass "
        "(the whole trace, which marks no steps)",
    ]
