"""`hookview diff` and the comparison it prints."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from support.command import call

import tb_hookview
from tb_hookview.comparison.compare import compare
from tb_hookview.schema import Module, ReportData

replace = msgspec.structs.replace


@pytest.fixture
def report(annotated: Path) -> ReportData:
    return tb_hookview.analyze(annotated).data


def slower(module: Module, backward_us: float) -> Module:
    own = module.backward.self_compute_us or 0
    backward = replace(module.backward, self_compute_us=own + backward_us)
    return replace(module, backward=backward)


def test_a_trace_and_itself_differ_in_nothing(report: ReportData) -> None:
    comparison = compare(report, report)
    assert comparison.measure == "device"
    assert {module.status for module in comparison.modules} == {"same"}
    assert comparison.step_us.change == comparison.backward_us.change == 0
    assert comparison.step_us.base == pytest.approx(
        sum(step.duration_us for step in report.steps) / 6
    )


def test_modules_are_joined_by_path_and_the_largest_change_is_first(report: ReportData) -> None:
    gone, *kept = report.modules
    small, large, *rest = kept
    new = replace(small, path="head.new")
    other = replace(report, modules=[new, *rest, slower(large, 6e6), slower(small, -6000)])
    changes = {module.path: module for module in compare(report, other).modules}
    assert next(iter(changes)) == large.path
    assert changes[large.path].backward_us.change == pytest.approx(1e6)
    assert changes[small.path].backward_us.change == pytest.approx(-1000)
    assert changes[gone.path].status == "vanished"
    assert changes[gone.path].backward_us.other is None
    assert changes["head.new"].status == "appeared"
    assert changes["head.new"].backward_us.base is None
    assert {changes[module.path].status for module in rest} == {"same"}


def test_numbers_are_per_step(report: ReportData) -> None:
    half = [replace(m, backward=_halved(m)) for m in report.modules]
    other = replace(report, modules=half, steps=report.steps[:3])
    changes = [module.backward_us.change for module in compare(report, other).modules]
    assert changes == pytest.approx([0.0] * len(changes), abs=1e-9)


def _halved(module: Module) -> object:
    return replace(module.backward, self_compute_us=(module.backward.self_compute_us or 0) / 2)


def test_without_a_device_on_one_side_host_time_is_compared(report: ReportData) -> None:
    host = replace(report, coverage=replace(report.coverage, measure="host"))
    comparison = compare(report, host)
    assert comparison.measure == "host"
    assert comparison.backward_us.base == pytest.approx(report.coverage.backward_host_us / 6)


def test_json_is_the_comparison(training: Path, annotated: Path) -> None:
    done = call("diff", training, annotated, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    reports = [tb_hookview.analyze(path).counted.data for path in (training, annotated)]
    expected = json.loads(msgspec.json.encode(compare(*reports)))
    assert json.loads(done.stdout) == expected
    assert {module["status"] for module in expected["modules"]} == {"unknown"}
    assert {module["backward_us"]["change"] for module in expected["modules"]} == {None}


def test_the_table_names_both_sides_and_the_change(training: Path, annotated: Path) -> None:
    done = call("diff", training, annotated)
    assert done.returncode == 0
    assert str(training) in done.stdout.replace("\n", "")
    assert "The base trace names no modules" in done.stdout
    assert "appeared" not in done.stdout
    assert "The other trace names no modules" in call("diff", annotated, training).stdout
    assert "No module changed." in call("diff", annotated, annotated).stdout
    assert "Neither trace has modules." in call("diff", training, training).stdout


def test_the_text_names_noise_memory_and_findings_that_came_or_went() -> None:
    cpu = Path(__file__).parents[2] / "sample_traces" / "cpu"
    done = call("diff", cpu / "memory_growth.whole", cpu / "memory_growth.mean")
    assert done.returncode == 0
    (step,) = [line for line in done.stdout.splitlines() if line.startswith("step ")]
    assert "3.09 ms (3.13 ms; 2.97 ms to 3.16 ms)" in step
    assert step.rstrip().endswith("within noise")
    assert "cpu allocated  1.66 MB  3.06 MB  +1.40 MB" in done.stdout
    assert "no longer found: Memory in use grows from step to step" in done.stdout
    back = call("diff", cpu / "memory_growth.mean", cpu / "memory_growth.whole").stdout
    assert "new finding: Memory in use grows from step to step" in back
    assert "-1.40 MB" in back


def test_a_difference_fails_no_command_and_bad_input_is_code_2(annotated: Path) -> None:
    assert call("diff", annotated, annotated).returncode == 0
    done = call("diff", annotated, annotated.parent / "none.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "none.json" in done.stderr
    assert call("diff", annotated).returncode == 2
