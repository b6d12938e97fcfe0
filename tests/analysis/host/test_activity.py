"""What names a time in which a thread ran no operator."""

from __future__ import annotations

from pathlib import Path

import grid
import numpy as np
import pytest

from tb_hookview.analysis.host.activity import named_activity
from tb_hookview.loading import load

STACK = """
    main python [user                             ]
    main python  [inner                          ]
    main ops     [aten::mm]            [aten::add]
    """


def named(folder: Path, inner: str) -> str:
    names = {"user": "train.py(7): fetch", "inner": inner}
    analysis = load(grid.write(folder / "t.json", grid.events(STACK, names)))
    tree = analysis.call_tree
    first, last = tree.end.min(), tree.start.max()
    (name,) = named_activity(analysis.host, tree.thread[:1], np.array([[first, last]]))
    return name


@pytest.mark.parametrize(
    "frame",
    [
        "torch/_ops.py(1243): __call__",
        "/usr/lib/python3/dist-packages/torch/nn/modules/module.py(1779): _call_impl",
        "torch/nn/modules/module.py(1751): _wrapped_call_impl",
        "torch/utils/_contextlib.py(115): decorate_context",
        "torch/autograd/function.py(574): apply",
    ],
)
def test_a_frame_that_only_passes_a_call_on_does_not_name_it(frame: str, tmp_path: Path) -> None:
    assert named(tmp_path, frame) == "fetch in train.py(7)"


@pytest.mark.parametrize(
    "frame",
    ["torch/nn/modules/module.py(928): _apply", "mine/_ops.py(3): load", "torch/hub.py(9): load"],
)
def test_other_frames_name_what_ran(frame: str, tmp_path: Path) -> None:
    assert named(tmp_path, frame).endswith(frame.rsplit("/", 1)[1].partition(": ")[0])
