"""The file and line of each module: the recorder's word, else the frames of Python stacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shared_traces
from analysis.owners import module, report_of

from tb_hookview import markers
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.trace import EventCategory

STACKS = """
main python  [Net                                                   ]
main python   [call                                                ]
main python    [net_forward                                       ]
main python     [Linear                 ] [Act            ] [call]
main python      [call                 ]   [builtin      ]
main python       [linear_forward     ]
main ops           [aten::mm seq=4   ]      [aten::relu ]
"""
FRAMES = {
    "call": "torch/nn/modules/module.py(1743): _call_impl",
    "net_forward": "my model (v2)/net.py(12): forward",
    "linear_forward": "torch/nn/modules/linear.py(130): forward",
    "Act": "nn.Module: Act_0",
    "builtin": "<built-in method forward of Act object at 0x7f4e9134ab50>",
}


def test_the_first_forward_inside_a_call_is_where_its_module_stands(tmp_path: Path) -> None:
    """Not that of the module around or inside, nor of the caller."""
    data = report_of(tmp_path, STACKS, FRAMES)
    assert module(data, "Net_0").source == "my model (v2)/net.py:12"
    assert module(data, "Linear_0").source == "torch/nn/modules/linear.py:130"
    assert module(data, "Act_0").source is None


def test_a_module_without_a_forward_of_its_own_has_not_that_of_one_inside(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main python  [Net                                   ] [linear_forward]
        main python   [call                                ]
        main python     [Linear                 ]
        main python       [linear_forward     ]
        main ops           [aten::mm seq=4   ]
        """,
        FRAMES,
    )
    assert module(data, "Net_0").source is None
    assert module(data, "Linear_0").source == "torch/nn/modules/linear.py:130"


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({"file": "net.py", "line": 7}, "net.py:7"),
        ({"file": "net.py", "line": None}, "net.py"),
        ({"file": "net.py", "line": True}, "net.py"),
        ({"file": None, "line": 7}, None),
        ({"file": ["net.py"], "line": 7}, None),
        ({}, None),
    ],
)
def test_the_recorders_manifest_goes_before(
    tmp_path: Path, fields: dict[str, Any], source: str | None
) -> None:
    manifest = {"version": 1, "roots": [""], "modules": [{"path": "", "class": "Net", **fields}]}
    picture = "main ops   [root               ]"
    data = report_of(tmp_path, picture, **{markers.MANIFEST_KEY: manifest})
    assert module(data, "").source == source


def test_an_annotation_is_no_module_to_have_a_source(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main notes  [fwd                       ]
        main python   [linear_forward      ]
        main ops        [aten::mm seq=4   ]       [mm' seq=4 F=1]
        """,
        FRAMES,
    )
    assert module(data, "## forward ##").source is None


@pytest.mark.parametrize(
    "name", ["tracelens_mi300_resnet_checkpointing_ddp", "tracelens_h100_bert"]
)
def test_real_stacks_show_every_module_where_a_slow_search_finds_it(name: str) -> None:
    analysis = load(shared_traces.shared_trace(name))
    assert list(analysis.module_sources) == _slow_sources(analysis)
    assert None not in analysis.module_sources


def _slow_sources(analysis: Analysis) -> list[str | None]:
    """Each module's first call, and of all frames inside it the first that is a `forward`."""
    call_tree, events, ranges = analysis.call_tree, analysis.trace.events, analysis.module_calls
    python = np.flatnonzero(events.kind == EventCategory.PYTHON).tolist()
    rows = [
        (int(events.thread[row]), int(events.start[row]), analysis.trace.strings[events.name[row]])
        for row in python
    ]
    found: list[str | None] = []
    for number in range(len(analysis.modules)):
        calls = np.flatnonzero(ranges.module == number).tolist()
        call = min(calls, key=lambda row: int(call_tree.start[row]))
        first, last = int(call_tree.start[call]), int(call_tree.end[call])
        frames = sorted(
            (start, text)
            for thread, start, text in rows
            if thread == call_tree.thread[call] and first <= start <= last
        )
        text = next((t for _, t in frames if t.endswith("): forward")), "")
        file, _, line = text.removesuffix("): forward").rpartition("(")
        found.append(f"{file}:{line}" if text else None)
    return found
