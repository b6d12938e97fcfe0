"""`sync-gather-backward-deterministic`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import causes, findings

NAMES = {
    "gather'": "autograd::engine::evaluate_function: GatherBackward0",
    "index'": "autograd::engine::evaluate_function: IndexBackward0",
}


def test_strides_that_go_up_in_the_backward_of_gather(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        auto ops   [gather'                                ] [aten::mm     ]
        auto ops    [aten::scatter_add_                   ]
        auto ops     [aten::copy_                ]
        auto calls    [copy corr=5][wait corr=6 ]              [launch corr=7]
        gpu  kernel [k   ]
        gpu  copy        [P2D corr=5]
        gpu  kernel                                                 [k corr=7]
        """,
        NAMES,
    )
    (finding,) = found["sync-gather-backward-deterministic"]
    assert finding.where == "not in a module, GatherBackward0"
    assert finding.cost_us_per_step == finding.gain_bound_us_per_step
    assert (finding.cost_us_per_step or 0) > 0


def test_another_node_that_copies_is_not_gathers(tmp_path: Path) -> None:
    picture = """
        auto ops   [index'                                 ]
        auto ops     [aten::copy_                ]
        auto calls    [copy corr=5][wait corr=6 ]
        gpu  copy        [P2D corr=5]
        """
    assert causes(tmp_path, picture, NAMES) != ["sync-gather-backward-deterministic"]


def test_a_value_read_in_the_backward_of_gather_is_no_upload(tmp_path: Path) -> None:
    picture = """
        auto ops   [gather'                                ]
        auto ops     [aten::item                 ]
        auto calls    [copy corr=5][wait corr=6 ]
        gpu  copy        [D2P corr=5]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_the_forward_of_gather_is_another_thing(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::gather                           ]
        main ops     [aten::copy_                ]
        main calls    [copy corr=5][wait corr=6 ]
        gpu  copy        [P2D corr=5]
        """
    assert causes(tmp_path, picture) != ["sync-gather-backward-deterministic"]
