"""`h2d-nonblocking-unpinned`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import causes, findings


def test_the_call_lasts_as_long_as_the_copy(tmp_path: Path) -> None:
    """Pageable memory goes through a pinned buffer of the driver, in parts."""
    picture = """
        main notes [ProfilerStep#1                                                  ]
        main ops    [aten::to                              ] [aten::mm     ]
        main ops      [aten::copy_                        ]
        main calls     [copy corr=5                     ]     [launch corr=7]
        gpu  copy             [P2D corr=5          ]
        gpu  kernel [k]                                               [k corr=7]
        """
    (finding,) = findings(tmp_path, picture)["h2d-nonblocking-unpinned"]
    assert finding.cost_us_per_step
    assert causes(tmp_path, picture) == ["h2d-nonblocking-unpinned"]


def test_the_call_returns_just_before_the_copy_ends(tmp_path: Path) -> None:
    picture = """
        main notes [ProfilerStep#1                                                  ]
        main ops    [aten::to                              ] [aten::mm     ]
        main ops      [aten::copy_                        ]
        main calls     [copy corr=5                     ]     [launch corr=7]
        gpu  copy             [P2D corr=5                ]
        gpu  kernel [k]                                               [k corr=7]
        """
    assert causes(tmp_path, picture) == ["h2d-nonblocking-unpinned"]
    (finding,) = findings(tmp_path, picture)["h2d-nonblocking-unpinned"]
    assert finding.count == 1


def test_a_short_call(tmp_path: Path) -> None:
    picture = """
        main notes [ProfilerStep#1                                                  ]
        main ops    [aten::to         ] [aten::mm     ]
        main calls     [copy corr=5]     [launch corr=7]
        gpu  copy             [P2D corr=5                         ]
        gpu  kernel [k]                                             [k corr=7]
        """
    assert "h2d-nonblocking-unpinned" not in findings(tmp_path, picture)


def test_pinned_memory(tmp_path: Path) -> None:
    picture = """
        main notes [ProfilerStep#1                                                  ]
        main ops    [aten::to                              ] [aten::mm     ]
        main calls     [copy corr=5                     ]     [launch corr=7]
        gpu  copy             [pin2D corr=5               ]
        gpu  kernel [k]                                               [k corr=7]
        """
    assert "h2d-nonblocking-unpinned" not in findings(tmp_path, picture)
