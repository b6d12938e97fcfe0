"""Waits of the main thread for collectives of the host; 100 us each, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulation import drawn

from tb_hookview.analysis.dependencies.points import find_collective_waits

ONE = """
    main notes [ProfilerStep#1                                            ]
    main ops   [work][c10d::allreduce_][work]                      [work  ]
    gloo notes           [gloo:all_reduce                        ]
"""
LAST_OF_TWO = """
    main notes [ProfilerStep#1                                            ]
    main ops   [work][c10d::a ] [c10d::b  ][work]                  [work  ]
    gloo notes          [gloo:a                       ]
    more notes                    [gloo:b                         ]
"""
OTHER_CALLS = """
    main notes [ProfilerStep#1                                            ]
    main ops   [work]                       [work]                 [work  ]
    hook ops         [c10d::allreduce_]
    gloo notes           [gloo:all_reduce                        ]
"""
TWO_WAITS = """
    main notes [ProfilerStep#1                                                             ]
    main ops   [c10d::a ]             [work][c10d::b ]              [work][work  ][work    ]
    gloo notes    [gloo:a           ]           [gloo:b            ]
"""
OUTLASTS = """
    main notes [ProfilerStep#1                                              ]
    main ops   [c10d::a ][work]                                    [w ][work]
    gloo notes    [gloo:a                                            ]
"""
BUSY = """
    main notes [ProfilerStep#1                                            ]
    main ops   [work][c10d::allreduce_][work                                       ]
    gloo notes           [gloo:all_reduce                        ]
"""
SHORT = """
    main notes [ProfilerStep#1                                                    ]
    main ops   [work][c10d::allreduce_   ][work]                           [work  ]
    gloo notes           [gloo:all_reduce              ]
"""
"""It runs for 700 us of the 2,700 in which main does nothing."""
CALLED_LATER = """
    main notes [ProfilerStep#1                                            ]
    main ops   [work][work            ][work]                      [c10d::x]
    gloo notes           [gloo:all_reduce                        ]
"""
NOT_YET_DONE = """
    main notes [ProfilerStep#1                                ]
    main ops   [work][c10d::allreduce_][work]                 ]
    gloo notes           [gloo:all_reduce                        ]
"""
ON_MAIN = """
    main notes [ProfilerStep#1                                            ]
    main ops   [work][c10d::allreduce_                           ] [work  ]
    main notes           [gloo:all_reduce                       ]
"""


def waits(folder: Path, picture: str) -> list[tuple[str, int, int, int]]:
    """Thread of the call, then call, stop of main and when main goes on: columns of a picture."""
    simulator = drawn.simulator(folder, picture)
    analysis, window = simulator.analysis, simulator.window
    main = int(analysis.steps.thread[0])
    found = find_collective_waits(analysis, main, window.start, window.host_end)
    assert found.main == main
    times = [
        ((column - window.start) // (drawn.SCALE * 1000)).tolist()
        for column in (found.called, found.main_stops, found.main_resumes)
    ]
    threads = ["main" if thread == main else "other" for thread in found.caller.tolist()]
    return list(zip(threads, *times, strict=True))


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        (ONE, [("main", 6, 30, 52)]),
        (LAST_OF_TWO, [("main", 17, 34, 52)]),
        (OTHER_CALLS, [("other", 6, 35, 52)]),
        (OUTLASTS, [("main", 0, 16, 52)]),
        (TWO_WAITS, [("main", 0, 10, 23), ("main", 29, 39, 53)]),
        (BUSY, []),
        (SHORT, []),
        (CALLED_LATER, []),
        (NOT_YET_DONE, []),
        (ON_MAIN, [("main", 10, 10, 50)]),
    ],
)
def test_waits_of_main(
    picture: str, expected: list[tuple[str, int, int, int]], tmp_path: Path
) -> None:
    assert waits(tmp_path, picture) == expected


def test_what_began_before_is_left_out(tmp_path: Path) -> None:
    """Calls and collectives before the moment from which on waits are asked for."""
    simulator = drawn.simulator(tmp_path, TWO_WAITS)
    analysis, window = simulator.analysis, simulator.window
    main, later = int(analysis.steps.thread[0]), window.start + 25 * drawn.SCALE * 1000
    found = find_collective_waits(analysis, main, later, window.host_end)
    assert (found.called - window.start).tolist() == [29 * drawn.SCALE * 1000]
    none = find_collective_waits(analysis, main, window.host_end, window.host_end)
    assert not len(none.called)
