"""Autograd nodes of torch 1.7: no sequence numbers, no evaluations around them."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
import shared_traces

from tb_hookview.loading import analyze, load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData

NAMES = {
    "conv": "aten::cudnn_convolution",
    "relu": "aten::relu_",
    "add": "aten::add",
    "sum": "aten::sum",
    "Conv'": "CudnnConvolutionBackward",
    "Relu'": "ReluBackward1",
    "Add'": "AddBackward0",
    "grad": "torch::autograd::AccumulateGrad",
    "step": "Optimizer.step#SGD.step",
    "launch": "cudaLaunchKernel",
}
STEP = """
    main ops    [aten::to][aten::conv2d     ][add][relu][ones ]                       [step     ]
    main ops               [conv           ]                                           [add    ]
    main calls   [l corr=1] [l corr=2]       [ l corr=3 ]                              [l corr=4]
    auto ops                                                   [Relu'][sum][Conv'][grad]
    auto calls                                                  [a5]  [a6 ] [a7]   [a8]
    gpu kernel   [k corr=1] [k corr=2]        [k corr=3 ]       [b5]  [b6 ] [b7]   [b8] [k corr=4]
"""


def report_of(folder: Path, picture: str) -> ReportData:
    return build_report(load(grid.write(folder / "t.json", drawn(picture)))).data


def drawn(picture: str) -> list[dict[str, object]]:
    """Events of a picture; `a5` is the launch of `b5`, of correlation 5."""
    events = grid.events(picture, NAMES)
    for event in events:
        name = event["name"]
        if name[0] in "ab" and name[1:].isdigit():
            event["args"] = {"correlation": int(name[1:])}
        if event["cat"] == "cuda_runtime":
            event["name"] = "cudaLaunchKernel"
    return events


def test_rows_with_names_of_nodes_are_the_backward(tmp_path: Path) -> None:
    data = report_of(tmp_path, STEP)
    assert {node.name: node.count for node in data.nodes} == {
        "ReluBackward1": 1,
        "CudnnConvolutionBackward": 1,
        "torch::autograd::AccumulateGrad": 1,
    }
    assert data.totals.backward_device_us == 4 + 5 + 4 + 4  # Relu', sum, Conv', grad
    assert data.coverage.backward_host_us == 7 + 5 + 7 + 6
    assert {w.code: w.count for w in data.trace.warnings} == {"unnamed-kernels": 5}


def test_launches_between_nodes_in_no_operator_are_counted_and_in_no_phase(tmp_path: Path) -> None:
    data = report_of(tmp_path, STEP.replace("[sum]", "     "))
    assert data.totals.backward_device_us == 4 + 4 + 4
    warnings = {w.code: w.count for w in data.trace.warnings}
    assert warnings == {"gradient-sums": 1, "unnamed-kernels": 6}


@pytest.mark.parametrize(
    ("between", "ran"),
    [
        ("[aten::sum  ][aten::view ][aten::add         ]", 13 + 13 + 20),
        ("[aten::sum  ]             [aten::ones_like   ]", 0),
        ("[aten::sum  ]             [aten::add seq=9   ]", 0),
        ("[aten::sum  ]             [batch             ]", 0),
    ],
    ids=["the engine's", "the next pass begins", "the next forward", "another row"],
)
def test_what_the_engine_runs_between_two_nodes(tmp_path: Path, between: str, ran: int) -> None:
    """It is of the node before, with what is in it."""
    picture = f"""
        main ops [aten::mul seq=1 ][Mul' seq=1 F=1]{between}[Mul' seq=0 F=1]
        main ops                                     [fill  ]
    """
    names = {"Mul'": "MulBackward0", "fill": "aten::fill_"}
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    assert (analysis.nodes.self_host / 1000).tolist() == [16 + ran, 16]
    (step,) = build_report(analysis).data.steps
    assert step.backward_us == 16 + ran + 16


def test_the_forward_begins_with_the_first_operator_that_has_a_nodes_name(tmp_path: Path) -> None:
    """What is ahead of it (a copy to the device) is not the forward's, nor is the optimizer."""
    totals = report_of(tmp_path, STEP).totals
    assert totals.forward_device_us == 10 + 11
    assert totals.optimizer_device_us == 10


def test_a_forward_that_names_do_not_show_is_unknown_and_not_0(tmp_path: Path) -> None:
    """Two relus and one node: which of them the node is of, no name says."""
    picture = """
        main ops    [relu      ][relu      ]
        main calls   [l corr=1]  [l corr=2]
        auto ops                              [Relu'][grad]
        gpu kernel   [k corr=1]  [k corr=2]
    """
    data = report_of(tmp_path, picture)
    assert data.totals.forward_device_us is None
    assert {w.code: w.count for w in data.trace.warnings} == {"no-forward": 2}


def test_where_no_row_has_a_phase_one_warning_says_so(tmp_path: Path) -> None:
    """Calls and kernels alone: no operator, annotation or module is around any of them."""
    picture = """
        main calls   [l corr=1]  [l corr=2]
        gpu kernel   [k corr=1]  [k corr=2]
    """
    data = report_of(tmp_path, picture)
    assert data.totals.forward_device_us is None
    assert {warning.code for warning in data.trace.warnings} == {"no-host", "unnamed-kernels"}


def test_each_pass_has_its_own_forward(tmp_path: Path) -> None:
    """The second forward is unknown, so that the sum of both is."""
    known = """
        main ops    [relu      ]             [relu      ]
        main calls   [l corr=1]               [l corr=2]
        auto ops                [Relu'][grad]             [Relu'][grad]
        gpu kernel   [k corr=1]               [k corr=2]
    """
    assert report_of(tmp_path, known).totals.forward_device_us == 20
    other = known.replace("[Relu'][grad]\n        gpu", "[Conv'][grad]\n        gpu")
    data = report_of(tmp_path, other)
    assert data.totals.forward_device_us is None
    (main,) = (thread for thread in data.threads if thread.thread == "main")
    assert main.by_phase == {"other": main.busy_us}, "not the part that names show"
    assert [kernel.by_phase for kernel in data.kernels] == [{"other": 20}]


def test_sequence_numbers_go_before_names(tmp_path: Path) -> None:
    """With numbers, a row named as a node is may be a function of the user's."""
    picture = """
        main ops    [relu seq=1] [MyBackward]
        auto ops                              [Relu' seq=1 F=1][grad]
    """
    nodes = report_of(tmp_path, picture).nodes
    assert {node.name for node in nodes} == {"ReluBackward1", "torch::autograd::AccumulateGrad"}


def test_figures_of_a_training_on_torch_1_7() -> None:
    """As plain loops over root rows and their launches give them."""
    data = analyze(shared_traces.shared_trace("kineto_2020_resnet50")).data
    assert data.totals.backward_device_us == 374_335
    assert data.totals.forward_device_us == 197_222
    assert data.coverage.backward_host_us == 224_836
    assert sum(node.count for node in data.nodes) == 2_034
    sums = [w for w in data.trace.warnings if w.code == "gradient-sums"]
    assert [w.count for w in sums] == [102]
    assert "15.2 ms" in sums[0].message  # 389,529 us with them
    assert "tensor-cores-unused" in {finding.rule for finding in data.findings}
