"""Pictures of waits whose own call is not in the trace: time is read right after the device ended.

A column of these pictures is 20 us.
"""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData

NAMES = {
    "ddp": "DistributedDataParallel.forward",
    "elapsed": "cudaEventElapsedTime",
    "sync": "cudaEventSynchronize",
    "launch": "cudaLaunchKernel",
    "step1": "ProfilerStep#1",
}
COLUMN = 20


def report_of(folder: Path, picture: str) -> ReportData:
    events = grid.events(picture, NAMES)
    for event in events:
        event["ts"], event["dur"] = 1000 + (event["ts"] - 1000) * COLUMN, event["dur"] * COLUMN
    return build_report(load(grid.write(folder / "t.json", events))).data


WAIT = """
main notes [step1                                                              ]
main ops   [aten::mm      ] [ddp                                      ] [aten::mm      ]
main calls  [launch corr=1]  [elapsed]                      [elapsed]    [launch corr=2]
gpu  kernel       [k corr=1                               ]                   [k corr=2]
"""


def test_a_thread_without_rows_until_the_device_ends_waits_for_it(tmp_path: Path) -> None:
    """The time before the call is the sync's, up to the call; the call's own is as recorded."""
    data = report_of(tmp_path, WAIT)
    (sync,) = data.syncs
    assert (sync.api, sync.cause) == ("cudaEventElapsedTime", "sync-ddp-timers")
    assert (sync.duration_us, sync.waited_us) == (22 * COLUMN, 21 * COLUMN)
    assert sync.waited_for is not None
    assert sync.waited_for.name == "k"
    assert data.totals.sync_blocked_us == sync.duration_us


@pytest.mark.parametrize(
    "picture",
    [
        """
        main ops   [aten::mm      ] [ddp                                      ]
        main calls  [launch corr=1]  [elapsed]                      [elapsed]
        gpu  kernel       [k corr=1                  ]
        """,
        """
        main ops   [aten::mm      ] [ddp                                      ]
        main calls                   [elapsed]                      [elapsed]
        auto calls                               [launch corr=1]
        gpu  kernel                                    [k corr=1  ]
        """,
        """
        main ops   [aten::mm      ] [ddp                                      ]
        main calls  [launch corr=1]  [elapsed]                   [elapsed]
        main ops                               [aten::empty    ]
        main calls                             [other]
        gpu  kernel       [k corr=1                           ]
        """,
        """
        main ops   [aten::mm              ] [ddp                              ]
        main calls  [launch corr=1] [sync]   [elapsed]              [elapsed]
        gpu  kernel       [k corr=1                               ]
        """,
    ],
    ids=["ended long before", "launched meanwhile", "a row until then", "synchronizes recorded"],
)
def test_what_else_lies_before_the_time_is_read_is_no_wait(tmp_path: Path, picture: str) -> None:
    apis = [sync.api for sync in report_of(tmp_path, picture).syncs]
    assert "cudaEventElapsedTime" not in apis
