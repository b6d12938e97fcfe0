"""`hookview analyze`."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import grid
from support.command import call
from support.host_trace import write_host_trace

import tb_hookview


def test_json_is_the_report_and_nothing_else(training: Path) -> None:
    done = call("analyze", training, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(tb_hookview.analyze(training).to_json())


def test_the_summary_holds_the_numbers_of_the_report(annotated: Path) -> None:
    done = call("analyze", "--verbose", annotated)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    report = tb_hookview.analyze(annotated).data
    assert lines[0].strip() == str(annotated)
    assert lines[1].strip() == report.verdict.sentence
    (origin,) = (line for line in lines if line.startswith("Tesla V100-SXM2-16GB"))
    assert "rank 1 of 2" in origin
    heads = ("critical path: ", "Findings", "Modules by self time")
    order = [at for head in heads for at, line in enumerate(lines) if line.startswith(head)]
    assert len(order) >= len(heads)
    assert order == sorted(order)
    assert order[-1] < lines.index(origin)
    devices = lines.index(next(line for line in lines if line.startswith("Devices (")))
    for step in report.steps:
        line, caused = (line for line in lines if line.startswith(step.name))
        assert f"{step.duration_us / 1e3:.3g}"[:3] in line
        assert lines.index(caused) > devices
        assert step.idle is not None
        assert (
            f"{step.idle.device / 1e3:.2f} ms" in caused or f"{step.idle.device:.0f} us" in caused
        )
    counted = tb_hookview.analyze(annotated).counted.data
    top = max(counted.modules, key=lambda module: module.backward.self_compute_us or 0)
    row = next(line for line in lines if line.startswith(top.path))
    assert row == next(line for line in lines if line.startswith("##"))
    per_step = (top.backward.self_compute_us or 0) / len(counted.steps)
    assert f"{per_step / 1e3:.1f} ms" in row
    for thread in report.threads:
        assert any(re.match(rf"{re.escape(thread.thread)} +{thread.role} ", row) for row in lines)
    assert "not attributed" in done.stdout
    assert all(reason in done.stdout for reason in report.coverage.unattributed_by_reason)


def test_the_short_summary_begins_with_the_verdict_and_fits_a_screen(annotated: Path) -> None:
    done = call("analyze", annotated)
    report = tb_hookview.analyze(annotated)
    lines = done.stdout.splitlines()
    assert len(lines) <= 25
    assert lines[0].strip() == str(annotated)
    assert done.stdout.replace("\n", " ").count(report.data.verdict.sentence) == 1
    assert "--verbose" in lines[-1]


def test_what_is_piped_is_plain(annotated: Path) -> None:
    assert "\x1b" not in call("analyze", annotated).stdout


def test_long_tables_say_what_they_leave_out(annotated: Path) -> None:
    done = call("analyze", "--verbose", annotated, "--top", "2")
    assert "... and 5 rows more" in done.stdout
    assert "ProfilerStep#1011" not in done.stdout


def test_modules_that_loaded_kernels_are_named(tmp_path: Path) -> None:
    """The root's part is its own 30 us; its child's are 16."""
    names = {"net": "nn.Module: Net_0", "fc": "nn.Module: Linear_0", "load": "cuModuleLoadData"}
    traced = grid.events(
        """
        main python [net                                                                ]
        main python           [fc            ]
        main calls            [load          ][load                        ][launch corr=1]
        gpu  kernel                                                             [k corr=1]
        """,
        {**names, "launch": "cudaLaunchKernel"},
    )
    done = call("analyze", "--verbose", grid.write(tmp_path / "t.json", traced))
    line = next(line for line in done.stdout.splitlines() if "lazy kernel loading" in line)
    assert line.endswith("lazy kernel loading: Net_0 30.0 us, Linear_0 16.0 us")


def test_steps_narrow_the_summary(annotated: Path) -> None:
    done = call("analyze", "--verbose", annotated, "--step", "ProfilerStep#1010")
    assert "ProfilerStep#1010" in done.stdout
    assert "ProfilerStep#1011" not in done.stdout


def test_unknown_step_and_worker_are_named(training: Path, tmp_path: Path) -> None:
    done = call("analyze", training, "--step", "ProfilerStep#77")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "ProfilerStep#77" in done.stderr
    shutil.copy(training, tmp_path / "host_1.1.pt.trace.json.gz")
    done = call("analyze", tmp_path, "--worker", "host_2")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "host_2" in done.stderr
    assert "host_1" in done.stderr
    assert call("analyze", tmp_path, "--worker", "host_1").returncode == 0


def test_names_from_a_trace_reach_the_terminal_as_text(training: Path, tmp_path: Path) -> None:
    path = tmp_path / "named.json"
    text = gzip.decompress(training.read_bytes()).decode()
    assert "AMD Radeon Graphics" in text
    hostile = "\\u001b[31m[bold]Radeon[/bold]\\u0007\\n"
    path.write_text(text.replace("AMD Radeon Graphics", hostile))
    done = call("analyze", "--verbose", path)
    assert done.returncode == 0
    assert r"\x1b[31m[bold]Radeon[/bold]\x07\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_trace_without_a_device_is_summarized_by_host_time(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    write_host_trace(path)
    done = call("analyze", "--verbose", path)
    assert done.returncode == 0, done.stderr
    assert "no device" in done.stdout
    assert "host, in this trace: backward 60.0 us" in done.stdout


def test_of_a_folder_the_file_taken_is_named_first(training: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        shutil.copy(training, tmp_path / f"host_{number}.1.pt.trace.json.gz")
    done = call("analyze", tmp_path, "--worker", "host_1")
    taken = tmp_path / "host_1.1.pt.trace.json.gz"
    assert done.stdout.startswith(f"Reading {taken}, the newest of 2 traces in {tmp_path}\n")
    assert done.stderr == ""
    assert json.loads(call("analyze", tmp_path, "--json").stdout)["schema"] == 1


def test_an_address_is_named_as_it_was_given() -> None:
    done = call("analyze", "s3://bucket/run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("hookview: s3://bucket/run: ")
