"""`pin-memory-inline`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import findings

NAMES = {
    "alloc": "cudaHostAlloc",
    "pin": "cudaHostAlloc",
    "oth": "cudaGetDevice",
    "loader": "enumerate(DataLoader)#_X.__next__",
    "go": "cudaLaunchKernel",
    **{f"s{n}": f"ProfilerStep#{n}" for n in range(1, 5)},
    "first": "aten::mm",
}


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


MEASURED = """
    main notes [s1         ][s2                    ][s3                    ][s4                    ]
    main ops    [first    ]  [work               ]   [work               ]   [work               ]
    main calls   [go corr=5]   [{0} ]  [go corr=6]     [{1} ]  [go corr=7]     [{2} ]  [go corr=8]
    gpu  kernel      [k corr=5]           [k corr=6]            [k corr=7]              [k corr=8]
    """
"""Three measured steps."""


@pytest.mark.parametrize("op", ["aten::item", "aten::empty"])
@pytest.mark.parametrize(
    ("calls", "once"), [(("pin", "oth", "oth"), 6), (("pin", "pin", "oth"), None)]
)
def test_what_one_of_several_steps_pins_is_priced_once(
    tmp_path: Path, op: str, calls: tuple[str, ...], once: float | None
) -> None:
    found = findings(tmp_path, MEASURED.format(*calls), NAMES | {"work": op})
    (finding,) = found["pin-memory-inline"]
    assert finding.once_us == once
    assert (finding.gain_us_per_step is None) == (once is not None)
    assert finding.cost_us_per_step


@pytest.mark.parametrize(("op", "own"), [("aten::item", True), ("aten::empty", False)])
def test_an_operators_own_buffer_is_pinned_once(tmp_path: Path, op: str, own: bool) -> None:
    picture = """
        main notes [s1                                      ]
        main ops    [work                  ]  [aten::mm      ]
        main calls       [alloc   ]           [launch corr=7]
        gpu  kernel [k]                             [k corr=7]
        """
    (finding,) = findings(tmp_path, picture, NAMES | {"work": op})["pin-memory-inline"]
    assert finding.once_us == (10 if own else None)
    assert (finding.title == "An operator pins memory of its own") == own
    assert ("DataLoader" in finding.fix) != own
