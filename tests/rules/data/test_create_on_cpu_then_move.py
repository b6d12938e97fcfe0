"""`create-on-cpu-then-move`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import causes, findings


def drawn(fill: str = "aten::randn", pause: int = 4) -> str:
    """A tensor filled by an operator and moved later."""
    wide, gap = f"[{fill}".ljust(15) + "]", " " * pause
    return f"""
        main notes [ProfilerStep#1 {gap}                                                      ]
        main ops    {wide}{gap}[aten::to                              ] [aten::mm      ]
        main ops                    {gap}  [aten::copy_                        ]
        main calls                  {gap}   [copy corr=5]  [wait corr=6     ]    [launch corr=7]
        gpu  copy                   {gap}          [P2D corr=5   ]
        gpu  kernel [k]             {gap}                                               [k corr=7]
        """


def test_filled_and_moved_at_once(tmp_path: Path) -> None:
    found = findings(tmp_path, drawn())
    (finding,) = found["create-on-cpu-then-move"]
    assert finding.confidence == "medium"
    assert finding.cost_us_per_step == finding.gain_bound_us_per_step
    assert "h2d-pageable-blocking" not in found


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(drawn(fill="aten::stack"), id="made of other tensors"),
        pytest.param(drawn(pause=40), id="other lines between"),
    ],
)
def test_moved_all_the_same(tmp_path: Path, picture: str) -> None:
    assert causes(tmp_path, picture) == ["h2d-pageable-blocking"]


def test_filled_on_the_device(tmp_path: Path) -> None:
    """A batch that is moved after it has nothing to do with it."""
    picture = """
        main notes [ProfilerStep#1                                                              ]
        main ops    [aten::zeros     ] [aten::to                              ] [aten::mm      ]
        main ops      [aten::zero_  ]
        main calls    [launch corr=4]     [copy corr=5]  [wait corr=6     ]      [launch corr=7]
        gpu  copy                               [P2D corr=5   ]
        gpu  kernel           [k corr=4]                                            [k corr=7]
        """
    assert causes(tmp_path, picture) == ["h2d-pageable-blocking"]


def test_what_filled_it_is_gone_as_well(tmp_path: Path) -> None:
    """The device idles since the warm-up: what is of the measured step counts, and no more."""
    picture = """
        main notes [ProfilerStep#1  ][ProfilerStep#2                                              ]
        main ops    [aten::mm   ]     [aten::randn                ][aten::to          ][aten::mm  ]
        main ops                                                    [aten::copy_     ]
        main calls   [launch corr=1]                                 [copy corr=5][wait corr=6] [l corr=7]
        gpu  copy                                                      [P2D corr=5  ]
        gpu  kernel    [k corr=1]                                                                 [k corr=7]
        """
    found = findings(tmp_path, picture, {"l": "cudaLaunchKernel"})
    (finding,) = found["create-on-cpu-then-move"]
    assert "filled a tensor on the host, 29.0 us per step" in finding.evidence
    assert (finding.cost_us_per_step, finding.gain_us_per_step) == (57, 58)
    assert "host-work" not in found
