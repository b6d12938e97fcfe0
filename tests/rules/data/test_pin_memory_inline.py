"""`pin-memory-inline`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import findings

NAMES = {"alloc": "cudaHostAlloc", "loader": "enumerate(DataLoader)#_X.__next__"}


def test_pinned_by_the_thread_that_trains(tmp_path: Path) -> None:
    picture = """
        main notes [ProfilerStep#1                                                      ]
        main ops    [aten::pin_memory               ]    [aten::mm        ]
        main ops       [aten::_pin_memory         ]
        main calls       [alloc corr=3          ]           [launch corr=7]
        gpu  kernel [k]                                               [k corr=7]
        """
    (finding,) = findings(tmp_path, picture, NAMES)["pin-memory-inline"]
    assert finding.where == "not in a module, aten::pin_memory"
    assert finding.count == 1, "the call is part of the operator"
    assert finding.cost_us_per_step
    assert finding.cost_us_per_step >= 20


def test_pinned_by_a_thread_of_the_loader(tmp_path: Path) -> None:
    picture = """
        main   notes [ProfilerStep#1                                                      ]
        main   ops                                            [aten::mm        ]
        main   calls                                             [launch corr=7]
        loader ops    [aten::pin_memory               ]
        loader calls       [alloc corr=3          ]
        gpu    kernel [k]                                               [k corr=7]
        """
    assert "pin-memory-inline" not in findings(tmp_path, picture, NAMES)


def test_pinned_inside_the_loader(tmp_path: Path) -> None:
    picture = """
        main notes [ProfilerStep#1                                                      ]
        main notes  [loader                          ]
        main ops      [aten::pin_memory            ]    [aten::mm        ]
        main calls       [alloc corr=3          ]          [launch corr=7]
        gpu  kernel [k]                                               [k corr=7]
        """
    assert "pin-memory-inline" not in findings(tmp_path, picture, NAMES)


def test_without_steps_it_may_be_done_once(tmp_path: Path) -> None:
    picture = """
        main ops    [aten::pin_memory               ]    [aten::mm        ]
        main calls       [alloc corr=3          ]           [launch corr=7]
        gpu  kernel [k]                                               [k corr=7]
        """
    assert "pin-memory-inline" not in findings(tmp_path, picture, NAMES)
