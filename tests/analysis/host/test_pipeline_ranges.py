"""Ranges of pipelines are phases where both directions are marked."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import report
from shared_traces import shared_trace

from tb_hookview.loading import analyze, load
from tb_hookview.schema.terms import Phase

NODE = "autograd::engine::evaluate_function: MmBackward0"
PICTURE = """
    main notes  [ahead                  ] [back                   ] [weights    ]
    main calls   [launch corr=1]           [launch corr=2]           [launch corr=3]
    auto ops                     [node seq=9 F=1 ]
    auto calls                    [launch corr=4]
    gpu  kernel            [k corr=1  ]    [k corr=4]  [k corr=2    ]    [k corr=3  ]
    """
CONVENTIONS = [
    ("attn(F)", "attn(B)", "mlp(W)"),
    ("forward-compute", "backward-compute", "backward-compute"),
    ("Forward 3", "Backward 0", "Backward 1"),
    ("PP:0F3", "PP:0I0", "PP:0W0"),
]


@pytest.mark.parametrize("names", CONVENTIONS)
def test_ranges_are_phases(tmp_path: Path, names: tuple[str, str, str]) -> None:
    labels = dict(zip(("ahead", "back", "weights"), names, strict=True)) | {"node": NODE}
    data = report(tmp_path, PICTURE, labels)
    (step,) = data.steps
    assert (step.backward_us, step.forward_us) == (47.0, 17.0)
    assert data.totals.forward_device_us == 12.0
    assert data.totals.backward_device_us == 10.0 + 14.0 + 12.0
    assert data.coverage.backward_device_us == data.coverage.unattributed_us == 36.0
    outside = "in a range of the backward, outside of autograd nodes"
    assert data.coverage.unattributed_by_reason[outside] == 26.0
    assert data.coverage.backward_host_us == 17.0


@pytest.mark.parametrize(
    "name",
    [
        *("DistributedDataParallel.forward", "FSDP::root_pre_forward"),
        *("FSDP::pre_forward (blocks.0)", "FullyShardedDataParallel._post_forward"),
    ],
)
def test_torch_s_wrappers_are_the_forward(tmp_path: Path, name: str) -> None:
    """Their buffers and parameters are brought together there, in no module and for no node."""
    picture = """
        main notes  [ahead                  ]
        main calls   [launch corr=1]
        auto ops                              [node seq=9 F=1 ]
        gpu  kernel            [k corr=1  ]
        """
    (step,) = report(tmp_path, picture, {"ahead": name, "node": NODE}).steps
    assert step.forward_us == 25.0


@pytest.mark.parametrize("names", [("mlp(F)", "mlp(G)"), ("f(B)", "g(B)"), ("Forward", "Backward")])
def test_other_names_are_not(tmp_path: Path, names: tuple[str, str]) -> None:
    labels = {"ahead": names[0], "back": names[1], "weights": names[1], "node": NODE}
    data = report(tmp_path, PICTURE, labels)
    assert data.totals.forward_device_us is None
    assert data.totals.backward_device_us == 10.0


def test_a_recomputed_forward_shows_no_other(tmp_path: Path) -> None:
    """The node of `linear` is evaluated after the window; that of the node's own is known."""
    picture = """
        main ops    [aten::linear seq=40]
        auto ops    [outer seq=3 F=2                          ]
        auto ops     [aten::mm seq=7]  [node seq=7 F=1    ]
        """
    outer = "autograd::engine::evaluate_function: CheckpointFunctionBackward"
    data = report(tmp_path, picture, {"outer": outer, "node": NODE})
    (step,) = data.steps
    assert step.forward_us is None
    assert data.per_step.forward_us is None
    assert "no-forward-host" in {row.code for row in data.trace.warnings}


def test_dual_pipe() -> None:
    """By a plain loop over the events of the file, in whole microseconds."""
    path = shared_trace("deepseek_h800")
    data = analyze(path).data
    (step,) = data.steps
    assert (step.backward_us, step.forward_us) == (26_188.0, 84_100.0)
    assert data.totals.forward_device_us == 97_391.0
    assert data.totals.backward_device_us == 37_363.0 + 109_315.0
    assert data.coverage.unattributed_us == data.totals.backward_device_us
    analysis = load(path)
    assert not (analysis.phases.row[analysis.nodes.row] != Phase.BACKWARD).any()
