"""Means of a report: over which steps, and of which device events."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from support.loaded import loaded, reported

from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.report.tables.kernels import kernel_rows
from tb_hookview.schema import COUNTED

NAMES = {
    **{f"s{number}": f"ProfilerStep#{number}" for number in (1, 2, 3)},
    "launch": "cudaLaunchKernel",
    "wait": "cudaDeviceSynchronize",
    "item": "aten::item",
}
QUEUED = """
    main notes  [s1             ][s2             ][s3             ]
    main calls   [launch corr=1] [launch corr=2 ] [launch corr=3 ]
    gpu  kernel [a corr=8][b corr=9  ][k corr=1  ][k corr=2     ][k corr=3  ]
    """
"""The device is late by a step: two kernels were launched before the trace began."""


def report(folder: Path, picture: str) -> Report:
    return build_report(load(grid.write(folder / "t.json", grid.events(picture, NAMES))))


def test_what_was_launched_before_the_trace_is_in_no_step(tmp_path: Path) -> None:
    made = report(tmp_path, QUEUED)
    first, second, third = made.data.steps
    queued = [step.launched_before_count for step in (first, second, third)]
    assert queued == [2, 0, 0]
    assert first.launched_before_us == 22
    assert [step.device_us for step in (first, second, third)] == [12, 15, 12]
    assert made.table("device_events").to_columns()["step"] == [
        *(None, None, "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"),
    ]
    total = sum(kernel.total_us for kernel in made.data.kernels)
    assert total == 22 + 12 + 15 + 12  # the whole trace has them


def test_a_lost_launch_in_the_middle_leaves_its_kernel_in_the_step(tmp_path: Path) -> None:
    picture = QUEUED.replace("[launch corr=2 ]", "                ")
    made = report(tmp_path, picture)
    assert [step.launched_before_count for step in made.data.steps] == [2, 0, 0]
    assert sum(step.device_us or 0 for step in made.data.steps) == 12 + 15 + 12


@pytest.mark.parametrize(
    ("second", "differ"),
    [
        ("[mm' seq=2 F=1][sgd ]", ""),
        ("[mm' seq=2 F=1]      ", "; they differ: 1 without an optimizer step"),
        (
            " " * 21,
            "; they differ: 1 without a backward pass and 1 without an optimizer step",
        ),
    ],
    ids=["alike", "accumulates", "evaluates"],
)
def test_steps_of_two_kinds_under_one_mean(tmp_path: Path, second: str, differ: str) -> None:
    whole = "[mm seq={0}][mm' seq={0} F=1][sgd ]"
    rest = f"[mm seq=2]{second}"
    picture = f"""
        main notes  [s1                             ][s2                             ][s3                             ]
        main ops     {whole.format(1)}  {rest}  {whole.format(3)}
        """
    names = {"mm'": "autograd::engine::evaluate_function: MmBackward0", "mm": "aten::mm"}
    names["sgd"] = "Optimizer.step#SGD.step"
    traced = grid.events(picture, {**NAMES, **names})
    text = build_report(load(grid.write(tmp_path / "t.json", traced))).data.per_step.text
    assert text == f"mean of 2 of 3 steps; the first warms up{differ}"


def test_means_are_over_the_steps_that_count(tmp_path: Path) -> None:
    made = report(tmp_path, QUEUED)
    means = made.data.per_step
    assert (means.steps, means.of) == (2, 3)
    assert means.text == "mean of 2 of 3 steps; the first holds work launched before it"
    assert means.device_us == (15 + 12) / 2
    assert made.counted.data.per_step == means
    assert [step.name for step in made.counted.data.steps] == ["ProfilerStep#2", "ProfilerStep#3"]
    assert sum(kernel.total_us for kernel in made.counted.data.kernels) == 15 + 12


@pytest.mark.parametrize(
    ("picture", "text"),
    [
        ("main ops [aten::mm]", "the whole trace, which marks no steps"),
        (
            """
            main notes [s1          ]
            main calls  [launch corr=1]
            """,
            "ProfilerStep#1, the only step",
        ),
        (
            """
            main notes [s1              ][s2               ]
            main calls  [launch corr=1]   [launch corr=2 ]
            """,
            "mean of 1 of 2 steps; the first warms up",
        ),
        (
            """
            main notes [s1            ][s2    ][s3    ]
            main calls [launch corr=1]
            """,
            "mean of 1 of 3 steps; 2 steps launched nothing",
        ),
        (
            """
            main notes [s1      ][s2    ]
            """,
            "mean of all 2 steps; nothing was launched in any of them",
        ),
    ],
)
def test_the_text_says_which_steps_and_why(tmp_path: Path, picture: str, text: str) -> None:
    data = report(tmp_path, picture).data
    assert data.per_step.text == text
    assert sum(step.counts for step in data.steps) == data.per_step.steps


def test_chosen_steps_are_named(tmp_path: Path) -> None:
    made = load(grid.write(tmp_path / "t.json", grid.events(QUEUED, NAMES)))
    assert build_report(made, ["1"]).data.per_step.text == "ProfilerStep#1 of 3, as chosen"
    assert build_report(made, ["1", "3"]).data.per_step.text == "2 steps of 3, as chosen"
    counted = build_report(made, [COUNTED])
    assert counted.data == build_report(made).counted.data
    assert counted.counted is counted


def test_the_profilers_own_sync_is_named_apart(tmp_path: Path) -> None:
    picture = """
    main notes [s1                                           ]
    main ops              [item        ]
    main calls [launch corr=1] [wait  ]                         [wait        ]
    """
    data = report(tmp_path, picture).data
    causes = [sync.cause for sync in data.syncs]
    assert causes[-1] == "profiler"
    own, profilers = (sync.duration_us for sync in data.syncs)
    assert (data.totals.sync_count, data.totals.sync_blocked_us) == (2, own + profilers)
    assert (data.totals.profiler_sync_count, data.totals.profiler_sync_us) == (1, profilers)
    assert (data.per_step.sync_count, data.per_step.sync_blocked_us) == (1, own)
    (thread,) = data.threads
    assert thread.blocked_us == own


def test_steps_of_a_real_trace_have_equally_many_device_events() -> None:
    """The device of it is a step behind: 968 events were launched before the trace began."""
    name = "tracelens_mi300_resnet_checkpointing_ddp"
    made = reported(name)
    assert [step.launched_before_count for step in made.data.steps] == [783, 185, 0]
    for step in ("15", "16", "17"):
        kernels, _ = kernel_rows(select(loaded(name), [step]))
        assert sum(kernel.count for kernel in kernels) == 895
    counted, means = made.counted.data, made.data.per_step
    communication = counted.totals.communication_device_us
    assert communication is not None
    assert means.communication_device_us == communication / 2


FORWARD = """
    main notes  [s1                         ][s2             ]
    main ops     [aten::mm {number}        ]  [aten::zero    ]
    main calls    [launch corr=1]              [launch corr=2]
    auto ops                     {node}
    gpu  kernel   [k corr=1]                     [k corr=2   ]
    """


@pytest.mark.parametrize(
    ("number", "node", "expected"),
    [("seq=4", "[mm' seq=4 F=1]", [24 - 8, 0]), ("     ", "", [None, None])],
)
def test_a_forward_that_the_trace_does_not_show_is_null(
    tmp_path: Path, number: str, node: str, expected: list[float | None]
) -> None:
    """Where it shows that of another step, it is 0 in a step without one.

    8 us of the operator are in the backward of the other thread.
    """
    picture = FORWARD.format(number=number, node=node)
    drawn = grid.events(picture, {**NAMES, "mm'": "autograd::engine::evaluate_function: Mm0"})
    data = build_report(load(grid.write(tmp_path / "t.json", drawn))).data
    assert [step.forward_us for step in data.steps] == expected
    assert ("no-forward" in {row.code for row in data.trace.warnings}) == (expected[0] is None)
    for step in data.steps:
        parts = (step.backward_us, step.optimizer_us, step.data_us, step.other_us)
        assert (step.forward_us or 0) + sum(parts) == step.duration_us
    assert (data.per_step.forward_us is None) == (expected[0] is None)
