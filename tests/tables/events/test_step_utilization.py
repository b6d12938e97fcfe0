"""The table `step_utilization`."""

from __future__ import annotations

from pathlib import Path

import grid

from tb_hookview.loading import analyze

PICTURE = """
    main notes  [one               ][two               ]
    main calls   [go corr=1]         [go corr=2]
    gpu  kernel            [k corr=1          ][k corr=2 device=0]
    """
H100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}
NAMES = {"one": "ProfilerStep#1", "two": "ProfilerStep#2", "go": "cudaLaunchKernel"}


def test_an_event_of_an_unknown_device_is_of_its_step(tmp_path: Path) -> None:
    events = grid.events(PICTURE, NAMES)
    for event in events:
        if event["args"] == {"correlation": 1} and event["cat"] == "kernel":
            event["pid"] = "no number"
    rows = analyze(grid.write(tmp_path / "t.json", events)).table("step_utilization")
    assert [row.step for row in rows] == ["ProfilerStep#1", "ProfilerStep#2"]


def test_flops_of_kernels_that_the_trace_lacks_are_no_share_of_the_peak(tmp_path: Path) -> None:
    """Two equal products; of the second all kernels but the first one are cut off."""
    picture = """
        main notes  [one               ][two               ]
        main ops      [aten::mm       ]   [aten::mm       ]
        main calls      [go corr=1]         [go corr=2]
        gpu  kernel                [k corr=1      ] [k corr=2]
        """
    events = grid.events(picture, {**NAMES, "k": "ampere_sgemm_128x64_tn"})
    for event in events:
        if event["name"] == "aten::mm":
            event["args"]["Input Dims"] = [[500, 500], [500, 500]]
            event["args"]["Input type"] = ["float", "float"]
        elif event["args"] == {"correlation": 2} and event["cat"] == "kernel":
            event["dur"] = 2
    path = grid.write(tmp_path / "t.json", events, deviceProperties=[H100])
    whole, cut = analyze(path).table("step_utilization")
    assert whole.flops == cut.flops == 2 * 500**3
    assert 0 < whole.mfu <= whole.peak_share < 1
    assert (cut.peak_share, cut.mfu) == (None, None)
