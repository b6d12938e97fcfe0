"""Lines of the summary: the recorder, compiled code, a device that is not recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grid
import pytest
from shared_traces import shared_trace

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.summary.lines import detail_lines
from tb_hookview.report.summary.tables import detail_tables

NAMES = {"region": "Torch-Compiled Region: 0/0", "mm": "aten::mm", "add": "aten::add"}


def test_a_list_of_another_recorder_is_no_recording_of_torch(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    rows = [{"ph": "X", "name": "gemm", "pid": 1, "tid": 7, "ts": 5 * n, "dur": 3} for n in (1, 2)]
    path.write_text(json.dumps([*rows, {"ph": "M", "name": "thread_name", "pid": 1, "tid": 7}]))
    report = build_report(load(path)).data
    assert report.verdict.sentence == "Unknown: torch.profiler recorded no event of this trace."
    first = detail_lines(report)
    assert any("by another recorder: no event has a category" in line for line in first)
    path.write_text(json.dumps([{**rows[0], "cat": "cpu_op"}, rows[1]]))
    second = detail_lines(build_report(load(path)).data)
    assert any("recorded by torch.profiler" in line for line in second)


def lines_about_compiled_code(path: Path) -> list[str]:
    lines = detail_lines(build_report(load(path)).data)
    return [line for line in lines if line.startswith("compiled: ")]


def test_a_region_without_modules_says_what_it_runs_and_how_to_get_them(tmp_path: Path) -> None:
    picture = """
        main ops   [region                      ]
        main ops     [mm           ]  [add     ]
        """
    path = grid.write(tmp_path / "t.json", grid.events(picture, NAMES))
    assert lines_about_compiled_code(path) == [
        "compiled: not broken down by module; most of it aten::mm 15.0 us, aten::add 10.0 us in the "
        "whole trace; to get modules' times, call hookview.wrap() before the first compiled step "
        "(torch 2.10 or later) and record with hookview.profile()"
    ]


def test_kernels_alone_are_not_all_that_compiled_code_ran(tmp_path: Path) -> None:
    picture = """
        main ops   [mm              ]
        main calls   [go corr=1  ]
        gpu  kernel     [mul corr=1      ]
        """
    names = {**NAMES, "mul": "triton_poi_fused_mul_0", "go": "cudaLaunchKernel"}
    path = grid.write(tmp_path / "t.json", grid.events(picture, names))
    (line,) = lines_about_compiled_code(path)
    assert "; most of the kernels that it generated mul 18.0 us in the whole trace; " in line


def test_an_operator_of_several_regions_is_named_once(tmp_path: Path) -> None:
    picture = """
        main ops   [region             ] [other        ]
        main ops     [mm             ]      [mm      ]
        """
    names = {**NAMES, "other": "Torch-Compiled Region: 1/0"}
    path = grid.write(tmp_path / "t.json", grid.events(picture, names))
    (line,) = lines_about_compiled_code(path)
    assert "; most of it aten::mm 27.0 us in the whole trace; " in line


def test_generated_kernels_without_a_known_launch_have_no_time_to_name(tmp_path: Path) -> None:
    """They are on no operator, so that nothing says what they took."""
    names = {"fused": "triton_poi_fused_copy_zeros_0"}
    picture = """
        main calls  [launch corr=1]
        gpu  kernel      [fused corr=1]
        """
    path = grid.write(tmp_path / "t.json", grid.events(picture, names))
    (line,) = lines_about_compiled_code(path)
    assert line.startswith("compiled: not broken down by module; to get")


def test_eager_code_has_no_such_line(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events("main ops [mm     ]", NAMES))
    assert lines_about_compiled_code(path) == []


def test_a_long_name_of_a_kernel_is_cut() -> None:
    """`Cijk_...` of flux have 900 characters each."""
    (line,) = lines_about_compiled_code(shared_trace("tracelens_mi300_flux_sage"))
    assert len(line) < 400
    assert "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_... 28.0 ms" in line


def test_a_recorded_trace() -> None:
    (line,) = lines_about_compiled_code(shared_trace("tracelens_mi300_compile_triton.json.gz"))
    assert "by module; most of it aten::mm 8.03 ms, aten::_scaled_dot_product_flash" in line
    assert "_unsafe_view_mul_silu 527 us in the whole trace; to get modules' times, call" in line


def with_memory_of(device: int) -> list[dict[str, Any]]:
    """A model of which only operators and memory are recorded."""
    arguments = {"Device Type": device, "Device Id": 0, "Addr": 1, "Bytes": 8}
    arguments |= {"Total Allocated": 8, "Total Reserved": 8}
    memory = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "ts": 1012}
    operators = grid.events("main ops [mm           ]", {"mm": "aten::mm"})
    thread = {key: operators[0][key] for key in ("pid", "tid")}
    return [*operators, memory | thread | {"args": arguments}]


def backward_on(thread: str) -> list[dict[str, Any]]:
    picture = f"""
        main      ops [mm seq=1]
        {thread}  ops             [node seq=1 F=1]
        """
    evaluation = "autograd::engine::evaluate_function: MmBackward0"
    return grid.events(picture, {"mm": "aten::mm", "node": evaluation})


@pytest.mark.parametrize(
    ("events", "unrecorded"),
    [
        pytest.param(with_memory_of(1), True, id="memory"),
        pytest.param(with_memory_of(0), False, id="memory of the CPU"),
        pytest.param(
            grid.events("main ops [cudnn]", {"cudnn": "aten::cudnn_mm"}), True, id="cuDNN"
        ),
        pytest.param(
            [*with_memory_of(1), *grid.events("main calls [cudaMalloc]")], False, id="calls"
        ),
        pytest.param(backward_on("auto"), True, id="backward on a thread of its own"),
        pytest.param(backward_on("main"), False, id="backward on the thread that calls it"),
    ],
)
def test_what_proves_a_device_that_is_not_recorded_leaves_waits_unknown(
    tmp_path: Path, events: list[dict[str, Any]], *, unrecorded: bool
) -> None:
    data = build_report(load(grid.write(tmp_path / "t.json", events))).data
    assert ("unrecorded-device" in {row.code for row in data.trace.warnings}) == unrecorded
    text = "\n".join(detail_lines(data))
    assert ("host blocked: unknown" in text) == unrecorded
    assert ("0 syncs" in text) != unrecorded
    totals, (step,) = data.totals, data.steps
    counts = (totals.sync_count, totals.backward_sync_count, data.per_step.sync_count)
    blocked = (totals.sync_blocked_us, step.sync_blocked_us, data.per_step.sync_blocked_us)
    assert {*counts, *blocked} == {None if unrecorded else 0}
    steps, *others = detail_tables(data, data, 9)
    assert steps.rows[0][-1] == ("-" if unrecorded else "0 us")
    hidden = " ".join(table.hidden for table in others)
    assert ("the model ran on a device" in hidden) == unrecorded


def test_so_does_what_proves_neither_device_nor_cpu(tmp_path: Path) -> None:
    """A recurrent layer asks whether cuDNN may, on every device."""
    events = grid.events("main ops [gru]", {"gru": "aten::cudnn_is_acceptable"})
    data = build_report(load(grid.write(tmp_path / "t.json", events))).data
    assert {row.code for row in data.trace.warnings} == {"no-forward-host"}
    assert data.totals.sync_count is None


def test_device_events_without_a_call_of_the_runtime_leave_waits_unknown(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events("gpu kernel [mm     ]", NAMES))
    data = build_report(load(path)).data
    assert (data.totals.sync_count, data.steps[0].sync_blocked_us) == (None, None)
    assert "host blocked: unknown" in "\n".join(detail_lines(data))


def test_a_chosen_step_is_not_the_whole_trace(tmp_path: Path) -> None:
    """It launches nothing, and waits for nothing; the other step does."""
    picture = """
        main notes [ProfilerStep#1                ] [ProfilerStep#2   ]
        main calls [cudaLaunchKernel corr=1]
        main ops                                     [aten::mm ]
        gpu kernel         [k corr=1    ]
        """
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture)))
    whole, chosen = (build_report(analysis, steps).data for steps in (None, ["ProfilerStep#2"]))
    assert any("syncs in the whole trace" in line for line in detail_lines(whole))
    assert any("0 syncs in the selected steps" in line for line in detail_lines(chosen))
    assert chosen.verdict.sentence.startswith(
        "Unknown, because the selected steps launched no device events: the host takes"
    )
