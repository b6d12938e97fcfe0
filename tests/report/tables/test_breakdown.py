"""Steps by torch_tb_profiler's categories, drawn; random ones are held against its own parser."""

from __future__ import annotations

from pathlib import Path

import grid

from tb_hookview.analysis.breakdown import CATEGORIES, find_breakdown
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.tables.devices import breakdown_rows
from tb_hookview.schema import Breakdown


def steps(folder: Path, picture: str, names: dict[str, str] | None = None) -> list[Breakdown]:
    selection = select(load(grid.write(folder / "t.json", grid.events(picture, names))), None)
    return breakdown_rows(selection, find_breakdown(selection.analysis))


def parts(row: Breakdown) -> dict[str, float]:
    every = {name: getattr(row, f"{name}_us") for name in CATEGORIES}
    assert sum(every.values()) == row.duration_us
    return {name: time for name, time in every.items() if time}


def test_a_moment_belongs_to_the_first_category_that_holds_it(tmp_path: Path) -> None:
    (row,) = steps(
        tmp_path,
        """
        main notes  [ProfilerStep#1                                             ]
        main notes    [load    ]
        main ops                 [aten::mm                       ]
        main calls                  [launch corr=1   ]
        gpu  kernel                          [k corr=1   ]
        gpu  copy                                    [c    ]
        """,
        {"load": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"},
    )
    assert parts(row) == {
        "kernel": 13,
        "copy": 2,
        "runtime": 9,
        "data": 10,
        "host": 3 + 6,
        "other": 61 - 43,
    }


def test_a_step_ends_with_its_device_work_and_the_next_begins_there(tmp_path: Path) -> None:
    first, second = steps(
        tmp_path,
        """
        main notes  [ProfilerStep#1    ][ProfilerStep#2     ]
        main calls    [launch corr=1]    [launch corr=2]
        gpu  kernel           [k corr=1         ]      [k corr=2     ]
        """,
    )
    assert (first.duration_us, second.duration_us) == (29, 21)
    assert second.start_us == first.start_us + 29
    assert parts(first)["kernel"] == 19


def test_a_last_step_whose_work_is_missing_is_left_out(tmp_path: Path) -> None:
    picture = """
        main notes  [ProfilerStep#1               ][ProfilerStep#2     ]
        main calls    [a corr=1] [a corr=2]          [a corr=3]
        gpu  kernel       [k corr=1] [k corr=2]
        """
    assert [row.step for row in steps(tmp_path, picture)] == ["ProfilerStep#1"]
    fewer = picture + "gpu  kernel                                            [k corr=3]\n"
    assert [row.step for row in steps(tmp_path, fewer)] == ["ProfilerStep#1"]


def test_a_collective_is_communication_on_the_device_and_on_the_host(tmp_path: Path) -> None:
    (row,) = steps(
        tmp_path,
        """
        main notes  [ProfilerStep#1                                               ]
        main notes    [nccl:all_reduce ]
        main calls       [launch corr=1]
        gpu  kernel                            [ncclDevKernel_AllReduce corr=1]
        """,
    )
    assert parts(row)["communication"] == 18 + 32
    assert "runtime" not in parts(row)


def test_without_device_work_the_host_alone_is_told(tmp_path: Path) -> None:
    (row,) = steps(
        tmp_path,
        """
        main notes  [ProfilerStep#1     ]
        main ops      [aten::mm ]
        """,
    )
    assert parts(row) == {"host": 11, "other": 10}


def test_the_profilers_own_sync_is_in_no_unmarked_step(tmp_path: Path) -> None:
    """A step that the trace marks has it, as in torch_tb_profiler."""
    work = """
        main ops    [aten::mm      ]
        main calls    [a corr=1]      [waitall corr=2]
        gpu  kernel       [k corr=1]
        """
    names = {"waitall": "cudaDeviceSynchronize"}
    (row,) = steps(tmp_path, work, names)
    assert row.duration_us == 18
    assert parts(row) == {"kernel": 10, "runtime": 4, "host": 2, "other": 2}
    (marked,) = steps(
        tmp_path, f"{work.rstrip()}\n        main notes  [ProfilerStep#1                   ]", names
    )
    assert marked.duration_us == 35
