"""The table of host threads: roles, busy time by phase, syncs, rows of no thread."""

from __future__ import annotations

from pathlib import Path

import grid
from analysis.owners import NAMES, report_of

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import Thread

TRAINING = """
main notes  [step                                                                     ]
main notes   [load      ]                                             [optim          ]
main ops      [cat]       [fc             ]                             [aten::add_]
main ops                   [aten::mm seq=4]
auto ops                                  [mm' seq=4 F=1          ] [hook]
auto calls                                  [wait             ]
pin  notes       [copy          ]
pin  calls         [go]  [go]
gpu  kernel                                     [k corr=9]
"""
LABELS = {
    "load": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "optim": "Optimizer.step#SGD.step",
    "wait": "cudaStreamSynchronize",
    "copy": "pin_memory",
    "go": "cudaMemcpyAsync",
}


def by_name(threads: list[Thread]) -> dict[str, Thread]:
    return {row.thread: row for row in threads}


def test_every_thread_has_its_role_and_its_time(tmp_path: Path) -> None:
    """A step's mark is not busy time; a call inside an annotation is no more time."""
    data = report_of(tmp_path, TRAINING, {**LABELS, "hook": "reducer"})
    rows = by_name(data.threads)
    assert [(row.thread, row.role) for row in data.threads] == [
        ("main", "forward"),
        ("auto", "backward"),
        ("pin", "other"),
    ]
    assert rows["main"].by_phase == {"optimizer": 17.0, "data": 12.0, "forward": 17.0}
    assert rows["main"].busy_us == 46
    assert rows["auto"].by_phase == {"backward": 25.0, "other": 6.0}
    assert rows["pin"].by_phase == {"other": 16.0}
    assert [row.blocked_us for row in data.threads] == [0, 19, 0]
    assert {row.process for row in data.threads} == {"77"}


def test_an_optimizer_is_busy_around_the_closure_that_it_calls(tmp_path: Path) -> None:
    picture = """
        main notes [optim                                       ]
        main ops        [fc        ]    [mm' seq=4 F=1]
        main ops         [aten::mm seq=4]
        """
    (row,) = report_of(tmp_path, picture, LABELS).threads
    assert sum(row.by_phase.values()) == row.busy_us == 46
    assert set(row.by_phase) == {"forward", "backward", "optimizer", "other"}


def test_a_loader_by_its_annotation_or_by_the_name_of_its_thread(tmp_path: Path) -> None:
    traced = grid.events(
        """
        main ops    [fc              ]
        main ops     [aten::mm seq=4]
        one  notes    [load     ]
        two  ops         [aten::cat]
        """,
        {**NAMES, **LABELS},
    )
    named = {"ph": "M", "name": "thread_name", "pid": 77, "tid": "two", "ts": 0}
    traced.append({**named, "args": {"name": "thread 12 (pt_data_pin)"}})
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    assert {row.thread: row.role for row in data.threads} == {
        "main": "forward",
        "one": "data",
        "thread 12 (pt_data_pin)": "data",
    }


def test_a_step_counts_what_lies_in_it(tmp_path: Path) -> None:
    """A row across a step's bound counts in both; idle threads are omitted."""
    traced = grid.events(
        """
        main notes  [one             ][two              ]
        main ops      [aten::cat]
        side ops             [aten::add      ]
        """,
        {"one": "ProfilerStep#1", "two": "ProfilerStep#2"},
    )
    analysis = load(grid.write(tmp_path / "t.json", traced))
    first, second = (build_report(analysis, [step]).data.threads for step in ("1", "2"))
    assert {row.thread: row.busy_us for row in first} == {"main": 11.0, "side": 9.0}
    assert {row.thread: row.busy_us for row in second} == {"side": 8.0}


def test_calls_that_a_device_mirrors_are_no_threads_and_no_waits(tmp_path: Path) -> None:
    traced = grid.events(
        """
        main calls  [wait               ]
        back calls     [synchronize  ]
        gpu  kernel   [k corr=9     ]
        """,
        {"wait": "synchronizeStream"},
    )
    for event in traced:
        if event["tid"] == "back":
            event["pid"], event["tid"] = 0, 8
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    assert [row.thread for row in data.threads] == ["main"]
    assert [sync.api for sync in data.syncs] == ["synchronizeStream"]


def test_a_host_whose_process_bears_a_devices_number_is_a_host(tmp_path: Path) -> None:
    traced = grid.events(
        """
        main ops    [aten::mm              ]
        main calls    [cudaLaunchKernel corr=9]
        gpu  kernel       [k corr=9     ]
        """
    )
    for event in traced:
        event["pid"] = 0
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    assert [row.thread for row in data.threads] == ["main"]
