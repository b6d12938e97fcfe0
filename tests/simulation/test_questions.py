"""What questions change on the host; one character is a microsecond, the answers are by hand."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from analysis.owners import NAMES

from tb_hookview.analysis.host.rows import EVALUATE
from tb_hookview.analysis.selection import Selection
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

BACKWARD = """
    main notes [ProfilerStep#1                                                                     ]
    main ops    [fc              ] [relu              ]
    main ops     [aten::mm seq=4]   [aten::relu seq=5]
    main ops                                              [relu' seq=5 F=1]   [mm' seq=4 F=1]
"""
CHECKPOINT = """
    main notes [ProfilerStep#1                                                                     ]
    main ops    [fc              ]
    main ops     [aten::mm seq=4]
    main ops                         [mm' seq=4 F=1                                       ]
    main ops                             [fc              ]     [aten::mm] [aten::mm]
    main ops                              [aten::mm seq=6]
"""


def saved(folder: Path, picture: str, question: dict[str, float]) -> float:
    """Microseconds by which a step gets shorter."""
    path = grid.write(
        folder / "t.json", grid.events(picture, {**NAMES, "ow'": EVALUATE + "AdjointBackward"})
    )
    simulator = Simulator(Selection(load(path), None))
    return (simulator.recorded.step - simulator.step(scaled(simulator.analysis, question))) / 1000


def test_a_module_takes_what_the_engine_needs_to_leave_its_nodes(tmp_path: Path) -> None:
    assert saved(tmp_path, BACKWARD, {"module:relu": 0}) == 20 + 17 + 3
    assert saved(tmp_path, BACKWARD, {"module:fc": 0}) == 18 + 15
    assert saved(tmp_path, BACKWARD, {"module:relu": 2}) == -40


@pytest.mark.parametrize("path", ["", "."])
def test_the_root_is_a_dot_too(path: str, tmp_path: Path) -> None:
    """As `check` and the recorder's marks have it."""
    picture = BACKWARD.replace("[fc              ]", "[root            ]")
    assert saved(tmp_path, picture, {f"module:{path}": 0}) == 18 + 15
    with pytest.raises(NotFoundError, match=r"there are \., relu"):
        saved(tmp_path, picture, {"module:none": 0})


DATA = """
    main notes [ProfilerStep#1                                                        ]
    main notes  [enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__]
"""


def test_the_host_s_work_is_not_the_time_in_a_loader(tmp_path: Path) -> None:
    lines = DATA.splitlines()[1:]
    step, loading = (len(line) - line.index("[") for line in lines)
    for factor in (0, 0.5):
        assert saved(tmp_path, DATA, {"host": factor}) == (1 - factor) * (step - loading)
        assert saved(tmp_path, DATA, {"data": factor}) == (1 - factor) * loading
    assert saved(tmp_path, DATA, {"host": 0, "data": 0}) == step


LOADS = """
    main notes [ProfilerStep#1                         ]
    main calls  [cuModuleLoad][launch corr=1] [wait    ]
    gpu kernel                 [k corr=1            ]
"""


def test_kernel_loading_is_what_the_calls_take_in_which_code_is_loaded(tmp_path: Path) -> None:
    assert saved(tmp_path, LOADS, {"kernel_loading": 0}) == 14
    assert saved(tmp_path, LOADS, {"kernel_loading": 0.5}) == 7
    assert saved(tmp_path, BACKWARD, {"kernel_loading": 0}) == 0


def test_a_forward_that_runs_again_takes_what_the_node_needs_around_it(tmp_path: Path) -> None:
    assert saved(tmp_path, CHECKPOINT, {"recomputation": 0}) == 4 + 18 + 5
    assert saved(tmp_path, CHECKPOINT, {"recomputation": 1}) == 0
    own = CHECKPOINT.replace("[mm' seq", "[ow' seq")
    assert saved(tmp_path, own, {"recomputation": 0}) == 18, "a function's Python goes on"
    assert saved(tmp_path, BACKWARD, {"recomputation": 0}) == 0


KERNELS = """
    main notes [ProfilerStep#1                                        ]
    main calls  [launch corr=1][launch corr=2][launch corr=3] [wait   ]
    gpu kernel                [exp corr=1]   [mul corr=2   ] [gemm corr=3]
"""
EXP, MUL = (
    f"void at::native::elementwise<4, at::native::{each}_op>(int)" for each in ("exp", "mul")
)


@pytest.mark.parametrize(
    "name", ["void at::native::elementwise<4, at::native::e...", "exp_op", "native::exp", EXP]
)
def test_a_kernel_is_found_by_what_its_name_alone_has(name: str, tmp_path: Path) -> None:
    assert kernel_changed(tmp_path, name) == [0]


def test_the_shown_name_of_a_kernel_is_one_and_not_the_begin_of_another(tmp_path: Path) -> None:
    assert kernel_changed(tmp_path, "gemm") == [2]
    assert kernel_changed(tmp_path, "void gemm<1>(int)") == [2]


def test_a_part_of_several_names_lists_them_in_full_longest_time_first(tmp_path: Path) -> None:
    for part in ("at::native::elementwise", "_op"):
        with pytest.raises(UsageError, match="may be one of") as raised:
            kernel_changed(tmp_path, part)
        assert f"{MUL}, {EXP}" in str(raised.value)
    for part in ("", "...", "none"):
        with pytest.raises(NotFoundError, match="there are void at::native"):
            kernel_changed(tmp_path, part)


def kernel_changed(folder: Path, name: str) -> list[int]:
    """Device events that a question about a kernel changes."""
    names = {"exp": EXP, "mul": MUL, "gemm": "void gemm<1>(int)"}
    path = grid.write(folder / "t.json", grid.events(KERNELS, {**NAMES, **names}))
    (change,) = scaled(load(path), {f"kernel:{name}": 0}).device
    return change.events.tolist()
