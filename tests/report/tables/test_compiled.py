"""Modules inside compiled regions: unknown, never 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from analysis.owners import module, report_of

from tb_hookview import markers
from tb_hookview.report.result import Report
from tb_hookview.schema import ReportData, Work

NAMES = {
    "region": "Torch-Compiled Region: 0/0",
    "call'": "autograd::engine::evaluate_function: CompiledFunctionBackward",
}
UNKNOWN = Work(None, None, None, None, None)
WHOLE = """
    main ops   [root                       ]
    main ops    [region           ] [relu ]
    main ops     [call seq=4     ]
    main ops                                  [call' seq=4 F=1]
    """
"""The root's call runs a region, and calls `relu` on its own."""
OUTSIDE = """
    main ops    [region           ]
    main ops     [call seq=4     ]
    main ops                                  [call' seq=4 F=1]
    """
"""The region runs in no module's call: the model was compiled after it was wrapped."""
PATHS = ["", "fc", "fc.inner", "relu", "relu.idle"]


def recorded(folder: Path, picture: str, names: dict[str, str] = NAMES, **more: Any) -> ReportData:
    marked = set(more.pop("compiled_modules", ()))
    listed = [
        {"path": path, "class": "C", **({"compiled": True} if path in marked else {})}
        for path in PATHS
    ]
    manifest = {"version": 1, "roots": [""], "modules": listed, **more}
    return report_of(folder, picture, names, **{markers.MANIFEST_KEY: manifest})


def compiled(data: ReportData) -> list[str]:
    return [row.path for row in data.modules if row.compiled]


def codes(data: ReportData) -> dict[str, int]:
    return {warning.code: warning.count for warning in data.trace.warnings}


def test_what_was_not_called_beside_a_region_may_have_run_in_it(tmp_path: Path) -> None:
    data = recorded(tmp_path, WHOLE)
    assert compiled(data) == ["fc", "fc.inner"]
    assert module(data, "fc").forward == UNKNOWN
    assert module(data, "fc").backward == UNKNOWN
    assert module(data, "fc").backward_ratio is None
    assert codes(data) == {"compiled": 2}


def test_what_was_not_called_in_a_module_without_a_region_did_not_run(tmp_path: Path) -> None:
    idle = module(recorded(tmp_path, WHOLE), "relu.idle")
    assert (idle.calls, idle.compiled, idle.forward.self_host_us) == (0, False, 0.0)


def test_the_region_is_the_work_of_the_module_that_was_called(tmp_path: Path) -> None:
    data = recorded(tmp_path, WHOLE)
    root = module(data, "")
    assert root.backward.self_host_us == data.coverage.backward_host_us == 17.0
    known = sum(row.backward.self_host_us or 0.0 for row in data.modules)
    assert known + data.coverage.unattributed_host_us == data.coverage.backward_host_us


def test_the_recorder_knows_where_the_trace_has_no_region(tmp_path: Path) -> None:
    picture = WHOLE.replace("[region           ]", "                   ")
    assert compiled(recorded(tmp_path, picture)) == []
    data = recorded(tmp_path, picture, compiled_modules=["fc", "relu"])
    assert compiled(data) == ["fc"]  # relu was called
    assert codes(data) == {"compiled-nothing": 2}


def test_marked_gradients_are_known_inside_a_region_too(tmp_path: Path) -> None:
    picture = f"""{WHOLE}
    main ops                                                      [acc'        ]
    main ops                                                        [owns_fc]
    """
    fc = module(recorded(tmp_path, picture), "fc")
    assert (fc.compiled, fc.calls, fc.forward) == (True, 0, UNKNOWN)
    assert fc.backward.self_host_us == 14.0


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        ({"compiled": [""]}, "compiled-after-wrap", "compile the model itself"),
        ({}, "compiled-after-wrap", "compile the model itself"),
    ],
)
def test_a_model_compiled_after_it_was_wrapped(
    tmp_path: Path, more: dict[str, Any], code: str, says: str
) -> None:
    data = recorded(tmp_path, OUTSIDE, **more)
    assert compiled(data) == PATHS
    assert all(row.forward == row.backward == UNKNOWN for row in data.modules)
    (warning,) = data.trace.warnings
    assert warning.code == code
    assert says in warning.message


def test_a_model_that_torch_skips_is_called_compiled_nowhere(tmp_path: Path) -> None:
    picture = WHOLE.replace("[region           ]", "                   ")
    (warning,) = recorded(tmp_path, picture, compiled_modules=["fc", "relu"]).trace.warnings
    assert "torch.compile skipped the model" in warning.message


def test_a_recording_in_which_nothing_ran(tmp_path: Path) -> None:
    (warning,) = recorded(tmp_path, "main notes [step]").trace.warnings
    assert warning.code == "nothing-ran"
    assert "lower the schedule's wait" in warning.message
    assert "profile_all_threads=True" in warning.message


def test_whole_steps_without_an_operator_ran_in_another_thread(tmp_path: Path) -> None:
    """No longer recording would show the modules, so their times are unknown."""
    picture = "main notes [ProfilerStep#1][ProfilerStep#2]"
    data = recorded(tmp_path, picture)
    assert codes(data) == codes(report_of(tmp_path, picture)) == {"unrecorded-steps": 2}
    assert all(row.forward == row.backward == UNKNOWN for row in data.modules)


@pytest.mark.parametrize("ran", ["notes [Optimizer.step#SGD.step]", "ops [aten::mm]"])
def test_steps_in_which_anything_ran_are_recorded(ran: str, tmp_path: Path) -> None:
    picture = f"""
        main notes [ProfilerStep#1    ][ProfilerStep#2                 ]
        main {ran}
        """
    assert "unrecorded-steps" not in codes(report_of(tmp_path, picture))


def test_a_wrapped_model_that_nobody_called(tmp_path: Path) -> None:
    data = recorded(tmp_path, "main ops [aten::mm seq=4]")
    (warning,) = data.trace.warnings
    assert (warning.code, compiled(data)) == ("no-module-calls", [])


def test_a_model_that_was_called_in_a_thread_which_is_not_recorded(tmp_path: Path) -> None:
    picture = "main ops [aten::sum ] [mm' seq=4 F=1] [grad' seq=3]"
    accumulate = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    names = {"mm'": "autograd::engine::evaluate_function: MmBackward0", "grad'": accumulate}
    for forward, code in (("", "unrecorded-thread"), (" [aten::mm seq=4]", "no-module-calls")):
        drawn = picture.replace(" [mm'", f"{forward} [mm'")
        (warning,) = recorded(tmp_path, drawn, names).trace.warnings
        assert warning.code == code


@pytest.mark.parametrize(
    ("update", "found"),
    [
        ("[zero]", {"compiled-update": 1}),
        ("[step] [zero]", {}),
        ("[zero] [aten::_fused_adam_]", {}),
        ("", {}),
    ],
)
def test_an_update_that_compiled_code_may_hold(
    update: str, found: dict[str, int], tmp_path: Path
) -> None:
    names = {
        "region": "Torch-Compiled Region: 0/0",
        "step": "Optimizer.step#Adam.step",
        "zero": "Optimizer.zero_grad#Adam.zero_grad",
    }
    picture = f"""
        main ops   [aten::mm seq=1] [aten::mm seq=2] [region] {update}
        """
    assert codes(report_of(tmp_path, picture, names)) == found


def test_without_a_manifest_nothing_is_said(tmp_path: Path) -> None:
    data = report_of(tmp_path, WHOLE, NAMES)
    assert (compiled(data), codes(data)) == ([], {})


def test_a_report_has_its_compiled_calls_as_an_attribute(tmp_path: Path) -> None:
    report = Report(recorded(tmp_path, WHOLE))
    assert report.compiled is report.data.compiled
