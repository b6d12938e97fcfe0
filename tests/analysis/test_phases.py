"""Phases of host rows, drawn."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview import markers
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.schema.terms import Phase

NAMES = {
    "fc": markers.encode("forward", "fc", "Linear"),
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
    "load": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "adam": "Optimizer.step#Adam.step",
    "zero": "Optimizer.zero_grad#Adam.zero_grad",
}


def analysis_of(folder: Path, picture: str) -> Analysis:
    return load(grid.write(folder / "t.json", grid.events(picture, NAMES)))


def phases_of(analysis: Analysis) -> dict[str, str]:
    """Phase of each row by its label."""
    labels = {name: label for label, name in NAMES.items()}
    texts = [analysis.trace.strings[string] for string in analysis.host.string]
    phases = [Phase(phase).name.lower() for phase in analysis.phases.row]
    found = [labels.get(text, text.removeprefix("aten::")) for text in texts]
    return dict(zip(found, phases, strict=True))


def test_what_made_a_node_that_is_never_evaluated_is_forward(tmp_path: Path) -> None:
    """As a GAN's G(z).detach(), a validation without no_grad, or a batch that raised."""
    picture = "main ops [aten::mm seq=4] [aten::relu seq=5] [aten::argmax seq=6] [aten::mul seq=6]"
    found = phases_of(analysis_of(tmp_path, picture))
    assert found == {"mm": "forward", "relu": "forward", "argmax": "other", "mul": "other"}


def test_without_modules_what_holds_the_forward_operator_of_a_node_is_forward(
    tmp_path: Path,
) -> None:
    """The operators around it, but not an annotation around them, nor what is next to it."""
    found = phases_of(
        analysis_of(
            tmp_path,
            """
            main notes [epoch                                                             ]
            main ops    [aten::linear                         ] [aten::item]
            main ops     [aten::t  ] [aten::mm seq=4         ]
            main ops                    [aten::resize_]
            auto ops                                                          [mm' seq=4 F=1]
            """,
        )
    )
    assert found == {
        "epoch": "other",
        "linear": "forward",
        "t": "forward",
        "mm": "forward",
        "resize_": "forward",
        "item": "other",
        "mm'": "backward",
    }


def test_the_forward_operator_may_be_the_first_row(tmp_path: Path) -> None:
    found = phases_of(
        analysis_of(
            tmp_path,
            """
            main ops    [aten::mm seq=4         ]  [aten::add]
            auto ops                                           [mm' seq=4 F=1]
            """,
        )
    )
    assert found == {"mm": "forward", "add": "other", "mm'": "backward"}


def test_the_first_reason_counts(tmp_path: Path) -> None:
    """A module that a loader calls is data's; what a node calls is the backward's."""
    found = phases_of(
        analysis_of(
            tmp_path,
            """
            main notes [load                 ]  [adam                    ]
            main ops     [fc            ]         [aten::add]
            main ops       [aten::mm]
            auto ops                                                        [mm' seq=4    ]
            auto ops                                                          [aten::mul]
            """,
        )
    )
    assert found == {
        "load": "data",
        "fc": "data",
        "mm": "data",
        "adam": "optimizer",
        "add": "optimizer",
        "mm'": "backward",
        "mul": "backward",
    }


def test_the_time_of_a_closure_is_not_the_optimizers(tmp_path: Path) -> None:
    """It ends with its backward; what the optimizer is called for in it is the optimizer's."""
    analysis = analysis_of(
        tmp_path,
        """
        main notes [adam                                                                          ]
        main ops     [aten::set_] [fc        ]                                    [aten::lerp_]
        main notes                             [zero         ]
        main ops                                [aten::zero_]
        main ops                                                [mm' seq=4 F=1]
        """,
    )
    assert phases_of(analysis) == {
        "adam": "optimizer",
        "set_": "other",
        "fc": "forward",
        "zero": "optimizer",
        "zero_": "optimizer",
        "mm'": "backward",
        "lerp_": "optimizer",
    }
    optimizer = analysis.phases.time[Phase.OPTIMIZER]
    assert (optimizer // 1000 - 1011).tolist() == [[28, 43], [60, 80]]


def test_an_optimizer_that_calls_its_closure_again(tmp_path: Path) -> None:
    """As LBFGS does: from its forward to its backward no time is the optimizer's."""
    analysis = analysis_of(
        tmp_path,
        """
        main notes [adam                                                                          ]
        main ops     [fc   ]                   [aten::mul_] [fc  ] [aten::set_]       [aten::lerp_]
        main ops              [mm' seq=4 F=1]                                   [mm']
        """,
    )
    phases = phases_of(analysis)
    assert [phases[name] for name in ("mul_", "set_", "lerp_")] == [
        "optimizer",
        "other",
        "optimizer",
    ]
    optimizer = analysis.phases.time[Phase.OPTIMIZER]
    assert (optimizer // 1000 - 1011).tolist() == [[26, 41], [66, 80]]


def test_a_moment_of_two_threads_is_of_the_first_phase(tmp_path: Path) -> None:
    """A module's call of 30 us: a loader takes the first 6, a node the last 10."""
    analysis = analysis_of(
        tmp_path,
        """
        main ops   [fc                          ]
        auto ops                       [mm'               ]
        load notes [load]
        """,
    )
    total = [int((time[:, 1] - time[:, 0]).sum()) // 1000 for time in analysis.phases.time]
    by_phase = {Phase(number).name.lower(): time for number, time in enumerate(total)}
    assert by_phase == {"forward": 20 - 6, "backward": 20, "optimizer": 0, "data": 6}


@pytest.mark.parametrize("role", ["loader", "optimizer"])
def test_without_any_of_these_all_is_other(tmp_path: Path, role: str) -> None:
    assert phases_of(analysis_of(tmp_path, f"main notes [{role}   ]")) == {role: "other"}


@pytest.mark.parametrize(("rows", "known"), [("", False), ("main notes          [zero]", True)])
def test_gradients_that_no_marked_optimizer_uses_leave_the_optimizer_unknown(
    tmp_path: Path, rows: str, known: bool
) -> None:
    """As `p.data -= rate * p.grad`, or an optimizer of one's own."""
    picture = f"""
        {rows}
        main ops [aten::mm seq=4]                 [aten::sub_]
        auto ops            [mm' seq=4 F=1] [sink]
        """
    names = NAMES | {"sink": "torch::autograd::AccumulateGrad"}
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    step = Selection(analysis, None).step_rows[0]
    assert (step.optimizer_us is not None) == known
    assert step.other_us > 0


COMPILED = """
    main ops   [0/0                                                                  ]
    main ops    [aten::mm seq=4] [aten::mm seq=5] [1/0                        ] [aten::t]
    main ops                                       [aten::mul_] [update    ]
    main calls                                                     [{call}]
    auto ops                                                                                 [mm' seq=4 F=1]
    """


@pytest.mark.parametrize(
    ("update", "call", "phase", "region"),
    [
        ("aten::_fused_adamw_", "launch", "optimizer", "optimizer"),
        ("aten::_foreach_addcdiv_", "launch", "optimizer", "optimizer"),
        ("aten::_foreach_mul_", "launch", "forward", "forward"),
        ("aten::_fused_adamw_", "replay", "optimizer", "forward"),
    ],
)
def test_an_update_in_the_compiled_region_of_the_forward_is_the_optimizers(
    update: str, call: str, phase: str, region: str, tmp_path: Path
) -> None:
    """The annotation is left out where torch.compile traces the optimizer's step."""
    regions = {name: f"Torch-Compiled Region: {name}" for name in ("0/0", "1/0")}
    names = NAMES | regions | {"update": update, "replay": "cudaGraphLaunch"}
    picture = COMPILED.format(call=call)
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    found = phases_of(analysis)
    assert found[update.removeprefix("aten::")] == phase
    assert {found[regions["1/0"]], found["mul_"]} == {region}
    assert {found[name] for name in (regions["0/0"], "mm", "t")} == {"forward"}
    assert bool(analysis.phases.known[Phase.OPTIMIZER])


def test_a_fused_update_is_the_optimizers_without_a_mark(tmp_path: Path) -> None:
    found = phases_of(analysis_of(tmp_path, "main ops [aten::_fused_sgd_] [aten::_fused_rms_norm]"))
    assert found == {"_fused_sgd_": "optimizer", "_fused_rms_norm": "other"}
