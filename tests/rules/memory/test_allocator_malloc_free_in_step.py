"""`allocator-malloc-free-in-step`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from rules.drawn import findings
from rules.eager import findings as eager_findings
from rules.eager import operators, row
from shared_traces import shared_trace

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import select
from tb_hookview.loading import analyze, load
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.cost_accounting import findings as cost_findings

STEP = """
    main notes [ProfilerStep#1      ][ProfilerStep#2                                          ]
    main ops    [aten::mm        ]    [aten::mm                                     ]
    main calls     [launch corr=5]       [{first}   ][{second}   ]   [launch corr=7]
    gpu  kernel         [k corr=5]                                         [k corr=7]
    """


MEASURED = """
    main notes [s1         ][s2                    ][s3                    ][s4                    ]
    main ops    [first    ]  [work               ]   [work               ]   [work               ]
    main calls   [go corr=5]   [{0} ]  [go corr=6]     [{1} ]  [go corr=7]     [{2} ]  [go corr=8]
    gpu  kernel      [k corr=5]           [k corr=6]            [k corr=7]              [k corr=8]
    """
"""Three measured steps."""
NAMES = {
    **{f"s{n}": f"ProfilerStep#{n}" for n in range(1, 5)},
    "go": "cudaLaunchKernel",
    "get": "cudaMalloc",
    "put": "cuMemUnmap",
    "oth": "cudaGetDevice",
    "first": "aten::mm",
    "work": "aten::mm",
}


@pytest.mark.parametrize(
    ("calls", "once"),
    [
        (("get", "oth", "oth"), 6),
        (("get", "get", "oth"), None),
        (("put", "oth", "oth"), None),
    ],
)
def test_what_one_of_several_steps_allocates_is_priced_once(
    tmp_path: Path, calls: tuple[str, ...], once: float | None
) -> None:
    found = findings(tmp_path, MEASURED.format(*calls), NAMES)
    (finding,) = found["allocator-malloc-free-in-step"]
    assert finding.once_us == once
    assert (finding.gain_us_per_step is None) == (once is not None)
    assert finding.cost_us_per_step


def test_what_happens_once_does_so_in_a_chosen_step_too(tmp_path: Path) -> None:
    drawn = grid.events(MEASURED.format("get", "oth", "oth"), NAMES)
    analysis = load(grid.write(tmp_path / "t.json", drawn))
    context = Context(select(analysis, ["2"]), RULES)
    found = [one.finding for one in cost_findings(context)]
    (finding,) = (one for one in found if one.rule == "allocator-malloc-free-in-step")
    assert finding.once_us == 6
    assert not len(context.gaps.in_steps(Cause.ALLOCATOR))


def test_memory_is_allocated_in_a_step(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(first="cudaMalloc", second="cudaMalloc"))
    (finding,) = found["allocator-malloc-free-in-step"]
    assert finding.where == "not in a module, aten::mm"
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


FULL = """
    main notes [s1                                                           ][s2               ][s3               ]
    main ops    [work                                                        ] [work            ] [work            ]
    main calls   [{0} ][{1}        ][{2}                       ][get ][go corr=5] [get ][go corr=6] [get ][go corr=7]
    gpu  kernel                   [k corr=4]                           [k corr=5]      [k corr=6]       [k corr=7]
    """
"""In the first step, which is not measured, an allocation fails, the cache is emptied."""


@pytest.mark.parametrize(
    ("calls", "failed"),
    [
        (("get", "oth", "del"), True),
        (("get", "oth", "oth"), False),
        (("oth", "oth", "del"), False),
        (("get", "go corr=4", "del"), False),
    ],
    ids=["retried", "nothing is freed", "emptied by the program", "emptied after a launch"],
)
def test_an_allocation_that_failed_in_the_step_that_warms_up(
    tmp_path: Path, calls: tuple[str, ...], *, failed: bool
) -> None:
    found = findings(tmp_path, FULL.format(*calls), {**NAMES, "del": "cudaFree"})
    refills, *others = found["allocator-malloc-free-in-step"]
    assert refills.fix.startswith("Lower the peak" if failed else "Keep shapes fixed")
    assert ("they refill the cache" in refills.evidence) == failed
    assert [one.title for one in others] == [
        "Device memory was full in a step that is not measured"
    ] * failed
    for one in others:
        assert one.evidence.startswith("3 calls, 1 of which free memory, in ProfilerStep#1, not ")
        assert (one.once_us, one.gain_us_per_step, one.severity) == (40, None, "info")
        assert one.fix.startswith("Lower the peak")


def test_an_emptied_cache(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(first="cudaFree", second="cudaFree"))
    (finding,) = found["allocator-malloc-free-in-step"]
    assert "empty_cache" in finding.evidence
    assert finding.fix == "Take torch.cuda.empty_cache() out of the loop."


@pytest.mark.parametrize(
    ("second", "why"),
    [("cudaMalloc", "it blocks the host"), ("cudaFree", "cudaFree waits for the whole device")],
)
def test_a_device_that_does_not_idle_is_said_to_wait_where_memory_is_freed(
    tmp_path: Path, second: str, why: str
) -> None:
    busy = STEP.replace("[k corr=5]              ", "[k corr=5               ").replace(
        "           [k corr=7]", "          ][k corr=7]"
    )
    found = findings(tmp_path, busy.format(first="cudaMalloc", second=second))
    (finding,) = found["allocator-malloc-free-in-step"]
    assert f"the device did not idle after it in this trace, but {why}" in finding.evidence


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


def test_no_caching_allocator_without_marks(tmp_path: Path) -> None:
    """Each empty tensor asks the driver, and as much is freed."""
    rows = [*uncached(8), *operators([("aten::mm", "k")] * 2, start=900, period=700)]
    (finding,) = eager_findings(tmp_path, rows)["allocator-malloc-free-in-step"]
    assert finding.title == "Device memory is not cached"
    assert finding.where == "the allocator"
    assert finding.count == 16
    assert finding.evidence.startswith(
        "the driver allocates for 100% of the empty tensors that operators create; 16 calls, 8 of "
        "which free memory, in the trace; the host spent 633 us in them"
    )
    assert finding.cost_us_per_step == 633
    assert "PYTORCH_NO_CUDA_MEMORY_CACHING" in finding.fix


@pytest.mark.parametrize(
    ("tensors", "freed", "cached"),
    [(7, True, 0), (8, False, 0), (8, True, 9)],
    ids=["too few", "nothing is freed", "most come from the cache"],
)
def test_a_caching_allocator(tmp_path: Path, tensors: int, freed: bool, cached: int) -> None:
    empty = [row("cpu_op", "aten::empty", 2000 + 2 * i, 1) for i in range(cached)]
    kernels = operators([("aten::mm", "k")] * 2, start=900, period=700)
    rows = [*uncached(tensors, freed=freed), *empty, *kernels]
    assert "allocator-malloc-free-in-step" not in eager_findings(tmp_path, rows)


def uncached(tensors: int, *, freed: bool = True) -> list[dict[str, Any]]:
    """Empty tensors, for each of which the driver allocates and frees."""
    rows = []
    for begin in range(920, 920 + 80 * tensors, 80):
        rows.append(row("cpu_op", "aten::empty", begin, 42))
        rows.append(row("cuda_runtime", "cudaMalloc", begin + 1, 40))
        rows += [row("cuda_runtime", "cudaFree", begin + 42, 40)] if freed else []
    return rows


def test_an_iteration_of_which_nearly_all_is_hip_free() -> None:
    """By a plain loop: 272 `hipFree` and 292 `hipMalloc` in each of five iterations."""
    found = analyze(shared_trace("tracelens_mi300_ddp_resnet18")).data.findings
    first = found[0]
    assert (first.rule, first.count) == ("allocator-malloc-free-in-step", 4 * (272 + 292))
    assert first.cost_us_per_step == pytest.approx(741_878, rel=1e-3)
    assert [each.rule for each in found].count("allocator-malloc-free-in-step") == 1
