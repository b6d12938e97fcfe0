"""`h2d-not-overlapped`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from rules.diagnosed import diagnosed
from rules.drawn import NAMES, findings

BATCH = """
    main notes [ProfilerStep#1                                                  ]
    main ops    [aten::to       ] [aten::mm      ]
    main calls    [copy corr=5]    [launch corr=7]
    gpu  copy           [pin2D corr=5         ]
    gpu  kernel                                 [k corr=7               ]
    """


def test_kernels_wait_for_the_copy(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, BATCH)["h2d-not-overlapped"]
    assert finding.cost_us_per_step == 23
    assert finding.where == "not in a module, aten::to"


def test_a_kernel_overlaps_the_copy(tmp_path: Path) -> None:
    beside = BATCH.replace("[k corr=7               ]", " ").replace(
        "gpu  kernel      ", "gpu  kernel [k                              corr=7]"
    )
    assert "h2d-not-overlapped" not in findings(tmp_path, beside)


def test_on_a_stream_of_its_own(tmp_path: Path) -> None:
    def moved(event: dict[str, Any]) -> dict[str, Any]:
        return {**event, "tid": 9} if event["cat"] == "gpu_memcpy" else event

    events = [moved(event) for event in grid.events(BATCH, NAMES)]
    assert "h2d-not-overlapped" not in diagnosed(grid.write(tmp_path / "trace.json", events))


def test_a_copy_of_no_length_to_speak_of(tmp_path: Path) -> None:
    short = BATCH.replace("[pin2D corr=5         ]", "[c]")
    assert "h2d-not-overlapped" not in findings(tmp_path, short, {"c": NAMES["pin2D"]})


def test_a_step_stays_as_long_as_its_copies(tmp_path: Path) -> None:
    copying = """
        main notes [ProfilerStep#1                                                                ]
        main ops    [aten::to   ][aten::mm      ]
        main calls  [copy corr=5][launch corr=7 ][wait                                           ]
        gpu  copy      [pin2D corr=5                                         ]
        gpu  kernel                                                           [k corr=7          ]
        """
    (finding,) = findings(tmp_path, copying)["h2d-not-overlapped"]
    assert finding.cost_us_per_step == 55
    assert finding.gain_us_per_step == pytest.approx(80 - 55, abs=0.01)
