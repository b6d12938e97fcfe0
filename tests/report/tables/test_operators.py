"""The table of operators, drawn: nesting, repeats, device time, marks; tensor-core eligibility."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import grid
import numpy as np
import pytest

from tb_hookview import markers
from tb_hookview.analysis.device.kinds import tensor_core_eligible
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.tables.host import operator_rows
from tb_hookview.schema import Operator


def rows(
    folder: Path,
    picture: str,
    names: Mapping[str, str] | None = None,
    steps: list[str] | None = None,
) -> dict[str, Operator]:
    made = load(grid.write(folder / "t.json", grid.events(picture, names)))
    return {row.name: row for row in operator_rows(select(made, steps))}


def test_self_time_is_without_operators_and_calls_inside(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        """
        main ops    [aten::linear                                  ]
        main ops       [aten::addmm                   ]
        main calls        [cudaLaunchKernel corr=1]
        gpu  kernel                [k corr=1                  ]
        """,
    )
    linear, addmm = found["aten::linear"], found["aten::addmm"]
    assert (linear.host_us, linear.self_host_us) == (48, 48 - 32)
    assert (addmm.host_us, addmm.self_host_us) == (32, 32 - 25)
    assert (linear.device_us, linear.self_device_us) == (28, 0)
    assert (addmm.device_us, addmm.self_device_us) == (28, 28)
    assert "cudaLaunchKernel" not in found


EARLY = """
    main ops    [outer                                                                           ]
    main ops      [empty]  [aten::copy_                 ]  [view]  [aten::fill_             ]
    main calls        [call corr=1       ]                [call corr=2           ]
"""


@pytest.mark.parametrize(
    ("call", "own"),
    [
        ("cudaMemcpyAsync", (82 - 7 - 30 - 6 - 26, 7, 30 - 20, 6, 26 - 24)),
        ("gif_merge", (82 - 7 - 24, 7 - 3, 30, 6, 26)),
    ],
)
def test_calls_on_an_early_clock_are_around_no_operator(
    call: str, own: tuple[int, ...], tmp_path: Path
) -> None:
    """Each takes time of the operator that its middle is in. Other runtimes run operators."""
    found = rows(tmp_path, EARLY, {"outer": "aten::_to_copy", "call": call})
    names = ("aten::_to_copy", "empty", "aten::copy_", "view", "aten::fill_")
    assert tuple(found[name].self_host_us for name in names) == own


def test_an_operator_that_passes_itself_on_is_one_call(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        """
        main ops    [aten::to                    ] [aten::to                    ]
        main ops      [aten::to         ]            [aten::to  ] [aten::empty  ]
        main ops        [aten::copy_ ]
        """,
    )
    to = found["aten::to"]
    assert to.calls == 3, "once outside, and twice where the inner one is not alone"
    assert to.host_us == 30 + 30
    assert to.self_host_us == 30 - 14 + 30 - 12 - 15 + 12
    assert to.device_us is None


@pytest.mark.parametrize(("numbers", "calls"), [((7, 8), 1), ((8, 7), 2)])
def test_by_its_number_a_call_began_before_one_of_the_same_microsecond(
    numbers: tuple[int, int], calls: int, tmp_path: Path
) -> None:
    """A clock of whole microseconds shows the first of two calls in a row within the second."""
    picture = "main ops [aten::empty]\nmain ops [aten::empty]"
    events = [e for e in grid.events(picture) if e["name"] == "aten::empty"]
    for event, number, length in zip(events, numbers, (1, 0), strict=True):
        event |= {"dur": length, "args": {"External id": number}}
    made = load(grid.write(tmp_path / "t.json", events))
    assert [row.calls for row in operator_rows(select(made, None))] == [calls]


def test_the_total_counts_a_call_inside_one_of_the_same_name_once(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        """
        main ops    [aten::mm                                      ]
        main ops      [aten::empty ] [aten::mm                   ]
        main calls                      [cudaLaunchKernel corr=1]
        gpu  kernel                                [ampere_h16816gemm corr=1]
        """,
    )["aten::mm"]
    assert (found.calls, found.host_us) == (2, 48)
    assert (found.device_us, found.self_device_us) == (26, 26)
    assert (found.tensor_core_us, found.self_tensor_core_us) == (26, 26)


def test_marks_of_the_recorder_are_no_operators(tmp_path: Path) -> None:
    names = {"fc": markers.encode("forward", "fc", "Linear")}
    found = rows(
        tmp_path,
        """
        main notes  [outside                         ]
        main ops      [fc                        ]
        main ops        [aten::mm           ]
        """,
        names,
    )
    assert found.keys() == {"outside", "aten::mm"}
    assert found["outside"].self_host_us == 34 - 21


def test_a_selection_of_steps(tmp_path: Path) -> None:
    picture = """
        main notes  [ProfilerStep#1     ][ProfilerStep#2     ]
        main ops     [aten::mm ]          [aten::mm    ]
        """
    assert rows(tmp_path, picture)["aten::mm"].host_us == 11 + 14
    assert rows(tmp_path, picture, steps=["2"])["aten::mm"].host_us == 14


def test_only_the_innermost_operator_for_tensor_cores_makes_its_kernels_eligible(
    tmp_path: Path,
) -> None:
    picture = """
        main ops    [aten::linear                                        ]
        main ops       [aten::addmm              ]  [aten::add ]
        main calls       [launch corr=1]               [c corr=2] [c corr=3]
        gpu  kernel            [k corr=1 ] [k corr=2 ] [k corr=3   ]
        """
    made = load(grid.write(tmp_path / "t.json", grid.events(picture)))
    assert tensor_core_eligible(made.host, made.device_events, made.kinds).tolist() == [
        True,
        False,
        False,
    ]
    assert np.array_equal(made.kinds.tensor_core == 1, [False] * 3)


def test_kernels_on_tensor_cores_are_eligible_without_their_operators(tmp_path: Path) -> None:
    """Those of a replayed graph; the other kernel of the graph may be of any operator."""
    picture = """
        main ops    [aten::mm        ]
        main calls     [launch corr=1]     [cudaGraphLaunch corr=2]
        gpu  kernel            [g corr=1 ]                  [g corr=2 ][k corr=2   ]
        """
    events = grid.events(picture, {"g": "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_tn"})
    made = load(grid.write(tmp_path / "t.json", events))
    assert np.array_equal(made.kinds.tensor_core == 1, [True, True, False])
    found = tensor_core_eligible(made.host, made.device_events, made.kinds)
    assert found.tolist() == [True, True, False]


def test_of_a_graph_that_an_operator_replays_only_kernels_on_tensor_cores_are_eligible(
    tmp_path: Path,
) -> None:
    picture = """
        main ops    [CompiledFunction            ]
        main notes    [graph                    ]
        main calls      [cudaGraphLaunch corr=2]
        gpu  kernel                               [g corr=2 ][k corr=2   ]
        """
    names = {"g": "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_tn"}
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    found = tensor_core_eligible(made.host, made.device_events, made.kinds)
    assert found.tolist() == [True, False]
    operators = rows(tmp_path, picture, names)
    for name in ("CompiledFunction", "graph"):
        row = operators[name]
        assert (row.tensor_core_eligible, row.tensor_core_us) == (True, 11)
