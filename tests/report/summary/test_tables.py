"""Tables of the summary."""

from __future__ import annotations

import re
from pathlib import Path

import grid
from msgspec.structs import replace
from rules import drawn

from tb_hookview.document.document import Table
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.summary.brief import brief_lines, whole_document
from tb_hookview.report.summary.modules import module_table
from tb_hookview.report.summary.tables import finding_table, operator_table
from tb_hookview.schema import ReportData

CPU = """
    main ops [aten::linear                      ]  [aten::gelu  ]
    main ops    [aten::addmm                   ]
    """
SYNC = """
    main ops   [aten::mm     ]                  [aten::mm     ]
    main calls [launch corr=1] [waitall       ] [launch corr=7]
    gpu  kernel        [k corr=1]                       [k corr=7]
    """


def report(folder: Path, picture: str) -> ReportData:
    return build_report(load(grid.write(folder / "t.json", grid.events(picture)))).data


def test_without_device_events_operators_are_named_by_self_time(tmp_path: Path) -> None:
    table = operator_table(report(tmp_path, CPU), 2)
    assert table.rows == [
        ("aten::addmm", "32.0 us", "64.0%", "32.0 us", "1"),
        ("aten::gelu", "14.0 us", "28.0%", "14.0 us", "1"),
    ]
    assert table.hidden.startswith("No device events: if the model runs on a device, record it")
    proven = CPU.replace("aten::addmm", "aten::mkldnn_convolution")
    advice = operator_table(report(tmp_path, proven), 2).hidden
    assert advice == "On the CPU: try torch.compile, and fit torch.set_num_threads to the cores."
    assert "bfloat16" not in advice
    events = grid.events(proven)
    path = grid.write(tmp_path / "t.json", events, deviceProperties=[{"id": 0, "name": "H100"}])
    advice = build_report(load(path)).data.device_advice or ""
    assert advice.startswith("The file names H100: the model and its batches were not moved there.")


def test_what_a_truncated_file_lacks_was_perhaps_recorded(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events(CPU))
    path.write_text(path.read_text().removesuffix("]}"))
    table = operator_table(build_report(load(path)).data, 2)
    assert table.rows
    assert not table.hidden


def test_a_process_that_runs_no_model_is_the_wrong_one(tmp_path: Path) -> None:
    advice = report(tmp_path, "    main python [serve(1)       ]").device_advice or ""
    assert advice.startswith("No operators and no device events: record the process that runs the")


def test_products_of_a_device_that_was_not_recorded_have_no_rate(tmp_path: Path) -> None:
    """Their launches were timed, not they."""
    for picture, known in (
        (CPU, True),
        (f"{CPU.rstrip()}\n    main calls  [cudaGetDeviceCount]", True),
        (f"{CPU.rstrip()}\n    main calls  [cudaLaunchKernel ]", False),
    ):
        events = grid.events(picture)
        for event in events:
            if event["name"] == "aten::addmm":
                shapes = {"Input Dims": [[5], [6, 8], [8, 5]], "Input type": ["float"] * 3}
                event["args"] |= shapes
        data = build_report(load(grid.write(tmp_path / "t.json", events))).data
        (row,) = (row for row in data.operators if row.name == "aten::addmm")
        assert row.flops
        assert (row.flops_us is not None, row.tflop_per_s is not None) == (known, known)


def test_operators_of_a_device_prove_that_it_was_not_recorded(tmp_path: Path) -> None:
    """Advice for the CPU does not fit."""
    proven = report(tmp_path, CPU.replace("aten::addmm", "aten::cudnn_convolution"))
    attends = CPU.replace("[aten::addmm   ", "[aten::_flash_attention_forward")
    launches = report(tmp_path, f"{CPU.rstrip()}\n    main calls  [cudaLaunchKernel corr=7]")
    events = grid.events(CPU)
    args = {"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": 512, "Total Allocated": 512}
    memory = {**events[0], "ph": "i", "s": "t", "name": "[memory]", "args": args}
    memory.pop("dur")
    used = build_report(load(grid.write(tmp_path / "m.json", [*events, memory]))).data
    for data, why in (
        (proven, "the model ran on a device: record it too"),
        (report(tmp_path, attends), "the model ran on a device: record it too"),
        (used, "the model ran on a device: record it too"),
        (launches, "its calls were recorded: CUPTI lacked permissions"),
    ):
        table = operator_table(data, 2)
        assert table.hidden.startswith(f"No device events, though {why}")
        assert "On the CPU" not in table.hidden


def test_rows_of_a_device_that_is_not_known_are_no_missing_recording(tmp_path: Path) -> None:
    events = grid.events(CPU)
    events += [{**row, "cat": "dequeue", "tid": "npu"} for row in events[:2]]
    data = build_report(load(grid.write(tmp_path / "t.json", events))).data
    assert operator_table(data, 2).hidden == (
        "No device events of CUDA, HIP, XPU, MTIA or PrivateUse1, which are all that is read; 2 "
        "events of unknown categories may be another device's."
    )


def test_with_device_events_kernels_say_what_costs(tmp_path: Path) -> None:
    assert operator_table(drawn.report(tmp_path, SYNC), 2).rows == []


def test_a_caveat_of_several_findings_stands_once_and_the_largest_one_left_out_is_named(
    tmp_path: Path,
) -> None:
    data = drawn.report(tmp_path, SYNC)
    (first, *_) = data.findings
    same = replace(first, severity="low", cost_us_per_step=5.0, caveats=["Stacks.", "Mine."])
    more = [
        replace(same, where="there", caveats=["Stacks."]),
        replace(same, where="and there", cost_us_per_step=70.0),
    ]
    table = finding_table(replace(data, findings=[same, *more]), 2)
    cells = [cell for row in table.rows for cell in row[1]]
    assert "Stacks." not in cells
    assert "Mine." in cells
    assert table.hidden == (
        f"several findings: Stacks. 1 more (up to 70.0 us, {first.rule}); the report has them all"
    )


def test_a_trace_without_steps_is_said_to_be_one(tmp_path: Path) -> None:
    data = drawn.report(tmp_path, SYNC)
    assert not data.per_step.marked
    tables = [part for part in whole_document(data, data, 9).parts if isinstance(part, Table)]
    words = [word for table in tables for word in (table.title, *table.columns)]
    assert [word for word in words if re.search(r"\b(?<!no )steps?\b", word)] == []
    places = [finding.where for finding in data.findings if "step" in finding.where]
    assert places == []
    assert any(line.startswith("trace ") for line in brief_lines(data))


def test_modules_of_a_trace_without_a_backward_have_their_forward(tmp_path: Path) -> None:
    picture = """
        main python [nn.Module               ]
        main ops      [aten::mm       ]
        """
    names = {"nn.Module": "nn.Module: Linear_0"}
    data = build_report(load(grid.write(tmp_path / "t.json", grid.events(picture, names)))).data
    table = module_table(data)
    assert table.columns[3:6] == ("forward", "share", "incl. children")
    assert [row[:2] for row in table.rows] == [("Linear_0", "Linear")]
    assert module_table(data, contains="LINEAR").rows == table.rows
    assert not module_table(data, contains="conv").rows
