"""The short summary."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.summary.brief import brief_lines

AHEAD = """
    main notes  [ProfilerStep#1            ]
    main ops    [aten::mm           ]
    main calls  [cudaLaunch corr=1 ]
    gpu  kernel     [k corr=1                       ]
"""


@pytest.mark.parametrize(
    ("picture", "step"),
    [
        (AHEAD, "step 28.0 us on the host, 37.0 us with its device work (ProfilerStep#1,"),
        (
            AHEAD.replace("            ]\n    main ops", "                       ]\n    main ops"),
            "step 39.0 us on the host (ProfilerStep#1,",
        ),
    ],
)
def test_the_step_is_also_given_with_what_the_device_has_left(
    picture: str, step: str, tmp_path: Path
) -> None:
    report = build_report(load(grid.write(tmp_path / "t.json", grid.events(picture))))
    assert brief_lines(report.data)[-1].startswith(step)
