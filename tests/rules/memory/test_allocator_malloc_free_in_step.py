"""`allocator-malloc-free-in-step`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import findings

STEP = """
    main notes [ProfilerStep#1      ][ProfilerStep#2                                          ]
    main ops    [aten::mm        ]    [aten::mm                                     ]
    main calls     [launch corr=5]       [{first}   ][{second}   ]   [launch corr=7]
    gpu  kernel         [k corr=5]                                         [k corr=7]
    """


def test_memory_is_allocated_in_a_step(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(first="cudaMalloc", second="cudaMalloc"))
    (finding,) = found["allocator-malloc-free-in-step"]
    assert finding.where == "outside every module, aten::mm"
    assert finding.count == 2
    assert "0 of which free memory" in finding.evidence
    assert finding.cost_us_per_step
    assert "again" not in finding.evidence
    assert finding.fix.startswith("Keep shapes")


def test_memory_is_freed_and_allocated(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(first="cudaFree", second="cudaMalloc"))
    (finding,) = found["allocator-malloc-free-in-step"]
    assert "1 time memory is freed and allocated again within one operator" in finding.evidence
    assert finding.fix.startswith("Lower the peak")


def test_an_emptied_cache(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(first="cudaFree", second="cudaFree"))
    (finding,) = found["allocator-malloc-free-in-step"]
    assert "empty_cache" in finding.evidence
    assert finding.fix == "Take torch.cuda.empty_cache() out of the loop."


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(
            STEP.replace("#1", "#1 ", 0).format(first="cudaHostAlloc", second="x"), id="host"
        ),
        pytest.param(
            """
            main notes [ProfilerStep#1                       ][ProfilerStep#2        ]
            main ops    [aten::mm                      ]       [aten::mm        ]
            main calls     [cudaMalloc ] [launch corr=5]          [launch corr=7]
            gpu  kernel                     [k corr=5]                   [k corr=7]
            """,
            id="the first step warms up",
        ),
        pytest.param(
            """
            main ops    [aten::mm                      ]
            main calls     [cudaMalloc ] [launch corr=5]
            gpu  kernel [k]                     [k corr=5]
            """,
            id="no steps",
        ),
    ],
)
def test_what_is_none(tmp_path: Path, picture: str) -> None:
    assert "allocator-malloc-free-in-step" not in findings(tmp_path, picture)
