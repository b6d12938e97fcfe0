"""What rules may ask of host rows, device events, gaps and steps."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from rules.drawn import NAMES

from tb_hookview import markers
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.context import Context

LABELS = {
    **NAMES,
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    "s3": "ProfilerStep#3",
    "fc": markers.encode("forward", "fc", "Linear"),
    "head": markers.encode("forward", "head", "Linear"),
}
PICTURE = """
    main  notes [s1                                    ][s2                                    ]
    main  ops    [fc                      ]              [fc               ] [head           ]
    main  ops     [aten::mm              ]                [aten::addmm    ]   [aten::to     ]
    main  ops      [aten::view]                                                [aten::copy_]
    main  calls     [launch corr=1]                         [launch corr=2]     [copy corr=3]
    saver ops                                [aten::clone    ]                [aten::sum]
    gpu   kernel           [k1 corr=1         ]                    [k2 corr=2]
    gpu   copy                                                                         [D2pin corr=3]
    """


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return context_of(tmp_path, PICTURE)


def context_of(folder: Path, picture: str, steps: Iterable[str] | None = None) -> Context:
    analysis = load(grid.write(folder / "trace.json", grid.events(picture, LABELS)))
    selection = select(analysis, None if steps is None else list(steps))
    return Context(selection, RULES)


def names(context: Context, rows: Any) -> list[str]:
    """Names of rows of the call tree, given as a mask or as indices; "" for -1."""
    chosen = np.flatnonzero(rows) if rows.dtype == bool else rows
    texts = context.analysis.trace.strings
    return [texts[context.host.string[row]] if row >= 0 else "" for row in chosen]


def row(context: Context, name: str) -> Any:
    (found,) = np.flatnonzero(context.rows.named(name))
    return np.array([found])


def events(context: Context, chosen: Any) -> list[str]:
    """Names of device events, given as a mask."""
    texts = context.analysis.trace.strings
    return [texts[name] for name in context.device_events.name[chosen]]


# Names


def test_rows_by_their_names(context: Context) -> None:
    rows = context.rows
    assert names(context, rows.named("aten::mm", "aten::absent")) == ["aten::mm"]
    assert names(context, rows.named("aten::absent")) == []
    assert names(context, rows.named("aten::to", "aten::mm")) == ["aten::mm", "aten::to"]
    assert names(context, rows.beginning("aten::c", "aten::m")) == [
        "aten::mm",
        "aten::copy_",
        "aten::clone",
    ]
    assert names(context, rows.ending("mm", "view")) == ["aten::mm", "aten::view", "aten::addmm"]
    assert names(context, rows.containing("dd", "ie")) == ["aten::view", "aten::addmm"]
    assert names(context, rows.matching(r"::(mm|to)$")) == ["aten::mm", "aten::to"]
    assert names(context, rows.matching(r"::(mm|to)$", "m")) == ["aten::mm"]
    assert names(context, rows.matching("absent")) == []
    assert names(context, rows.matching(r"::(mm|to)$", "absent")) == []


def test_whether_any_name_passes(context: Context) -> None:
    assert context.any_name(lambda text: text == "aten::mm")
    assert context.any_name(lambda text: text == "k2")
    assert not context.any_name(lambda text: text == "mm")
    assert not context.rows.any_name(lambda text: text == "k2")


# Rows of the call tree


def test_rows_inside_others(context: Context) -> None:
    rows = context.rows
    inside = ["aten::mm", "aten::view", "cudaLaunchKernel"]
    assert names(context, rows.inside(rows.named("aten::mm"))) == inside
    assert names(context, rows.inside(rows.named("absent"))) == []


def test_operators_around_rows(context: Context) -> None:
    rows = context.rows
    view, copy, call = (row(context, name) for name in ("aten::view", "aten::copy_", NAMES["copy"]))
    assert names(context, rows.operator_of(np.concatenate([view, copy, call]))) == [
        "aten::mm",
        "aten::to",
        "aten::copy_",
    ]
    outermost = rows.outermost_operator_of(np.concatenate([view, copy, call, [-1]]))
    assert names(context, outermost) == ["aten::mm", "aten::to", "aten::to", ""]
    assert rows.outermost_operator_of(row(context, LABELS["head"])).tolist() == [-1]


def test_the_outermost_operator_may_be_the_first_row(tmp_path: Path) -> None:
    context = context_of(
        tmp_path,
        """
        main  ops   [aten::mm          ]
        main  calls  [launch corr=1]
        """,
    )
    assert context.rows.outermost_operator_of(np.array([0, 1])).tolist() == [0, 0]
    assert context.rows.operator_of(np.array([0, 1])).tolist() == [-1, 0]


def test_modules_of_rows(context: Context) -> None:
    rows, paths = context.rows, context.analysis.modules.path
    mm, addmm, to = (row(context, name) for name in ("aten::mm", "aten::addmm", "aten::to"))
    clone = row(context, "aten::clone")
    assert paths[rows.module_of(int(mm[0]))] == "fc"
    assert rows.module_of(int(clone[0])) == -1
    assert paths[rows.common_module(np.concatenate([mm, addmm]))] == "fc"
    assert rows.common_module(np.concatenate([mm, to])) == -1
    assert rows.common_module(np.concatenate([mm, clone])) == -1
    assert rows.common_module(clone) == -1


def test_training_threads_launch_kernels_or_mark_steps(tmp_path: Path) -> None:
    context = context_of(
        tmp_path,
        """
        marks  notes [s1                                                          ]
        marks  ops    [aten::abs]
        trains ops    [aten::mm           ]
        trains calls   [launch corr=1]
        copies ops    [aten::copy_        ]
        copies calls   [copy corr=2  ]
        notes  notes  [epoch              ]
        notes  ops     [aten::neg]
        gpu    kernel            [k corr=1   ]
        gpu    copy                             [D2pin corr=2  ]
        """,
    )
    wanted = ("aten::abs", "aten::mm", "aten::copy_", "aten::neg")
    asked = np.concatenate([row(context, name) for name in wanted])
    assert context.rows.on_training_thread(asked).tolist() == [True, True, False, False]


# Steps


def test_rows_and_device_events_of_the_steps_that_count(context: Context) -> None:
    """The first step does not count; what it launched does not either, whenever it runs."""
    assert context.steps.indices == (1,)
    counted = names(context, context.rows.counted)
    assert "aten::addmm" in counted
    assert "aten::sum" in counted
    assert "aten::mm" not in counted
    assert events(context, context.device_events.counted) == ["k2", NAMES["D2pin"]]


def test_figures_of_a_mean_step(context: Context) -> None:
    steps = context.steps
    assert len(steps) == 1
    assert steps.marked
    assert [each.name for each in steps.report_rows] == ["ProfilerStep#2"]
    assert steps.duration_us == 40
    assert (steps.busy_us, steps.idle_us) == (20, 20)
    assert steps.us_per_step(5000) == 5


def test_chosen_steps_are_the_ones_that_count(tmp_path: Path) -> None:
    context = context_of(tmp_path, PICTURE, ["1", "2"])
    assert context.steps.indices == (0, 1)
    assert (context.steps.duration_us, context.steps.us_per_step(5000)) == (40, 2.5)
    first = context_of(tmp_path, PICTURE, ["1"])
    assert [each.name for each in first.steps.report_rows] == ["ProfilerStep#1"]
    assert events(first, first.device_events.counted) == ["k1"]


def test_a_trace_without_marks_is_one_step(tmp_path: Path) -> None:
    context = context_of(tmp_path, "main ops [aten::mm   ]  [aten::abs   ]")
    steps = context.steps
    assert (steps.indices, steps.marked, len(steps)) == ((0,), False, 1)
    assert (steps.busy_us, steps.idle_us) == (None, None)
    assert context.rows.counted.all()


def test_times_outside_of_all_steps_do_not_count(tmp_path: Path) -> None:
    picture = """
        main  ops  [aten::abs] [aten::mm ]           [aten::mul]          [aten::neg]
        main  calls                    [launch corr=1]     [launch corr=2]
        main  notes           [s1            ]      [s2            ]
        """
    context = context_of(tmp_path, picture)
    assert names(context, context.rows.counted & context.rows.beginning("aten")) == ["aten::mul"]


# Device events


def test_device_events_by_launch_and_kind(context: Context) -> None:
    device, rows = context.device_events, context.rows
    copy = NAMES["D2pin"]
    inside = rows.inside(rows.named("aten::mm", "aten::to"))
    assert events(context, device.launched_by(inside)) == ["k1", copy]
    assert events(context, device.launched_by(rows.named("aten::mm"))) == []
    assert events(context, device.of_kinds("copy")) == [copy]
    assert events(context, device.of_kinds("matrix", "other")) == ["k1", "k2"]
    assert events(context, device.copies_containing("DtoH")) == [copy]
    assert events(context, device.copies_containing("k")) == []
    assert events(context, device.named("k1", copy)) == ["k1", copy]


def test_an_event_is_of_the_step_that_launched_it(tmp_path: Path) -> None:
    """Its call is the first row of the trace; one of unknown launch is of the step it begins in."""
    picture = """
        main  notes [s1             ][s2             ][s3             ]
        main  calls [launch corr=1]    [launch corr=2]   [launch corr=3]
        gpu   kernel                  [k1 corr=1]         [k3 corr=3] [k9 corr=9]
        """
    context = context_of(tmp_path, picture)
    device = context.device_events
    assert context.analysis.device_events.launch.tolist() == [0, 2, -1]
    assert events(context, device.counted) == ["k3", "k9"]
    assert events(context, device.launched_by(context.rows.named(NAMES["launch"]))) == ["k1", "k3"]


def test_time_of_device_events(context: Context) -> None:
    """`k2` takes 11 of the 25 us of the step's work, 5 of which run after the step; `k1` is of a
    step that does not count."""
    device = context.device_events
    kernels = device.beginning("k")
    assert device.us_per_step(kernels) == 11
    assert device.share(kernels) == 11 / 25
    assert device.work_us == 25
    assert device.starts(kernels).tolist() == context.analysis.device_events.start[[1]].tolist()
    assert device.devices == [0]


def test_devices_that_ran_something_in_steps_that_count(tmp_path: Path) -> None:
    drawn = grid.events(PICTURE, LABELS)
    for event in drawn:
        if event["cat"] == "kernel" and event["name"] == "k1":
            event["pid"] = 3
        elif event["cat"] == "gpu_memcpy":
            event["pid"] = 1
    selection = select(load(grid.write(tmp_path / "trace.json", drawn)), None)
    context = Context(selection, RULES)
    assert len(context.device_events.devices) == 2
    device = context.analysis.device_events
    assert context.device_events.devices == sorted(
        set(device.device[context.device_events.counted].tolist())
    )


def test_without_a_device_it_takes_no_time(tmp_path: Path) -> None:
    context = context_of(tmp_path, "main ops [aten::mm   ]")
    device = context.device_events
    nothing = device.named("k")
    assert (device.share(nothing), device.us_per_step(nothing), device.devices) == (0, 0, [])
    assert device.launched_by(context.rows.named("aten::mm")).tolist() == []


def test_a_trace_of_the_device_alone(tmp_path: Path) -> None:
    context = context_of(tmp_path, "gpu kernel [k corr=1  ]  [k corr=2  ]")
    assert context.device_events.launched_by(context.rows.counted).tolist() == [False, False]
    assert context.gaps.at(context.rows.counted, *Cause).tolist() == []


# Gaps


def gaps_of(context: Context, gaps: Any) -> list[tuple[str, int]]:
    """Cause and length in microseconds of each."""
    table = context.analysis.gaps
    return [(Cause(table.cause[gap]).name, int(table.duration[gap]) // 1000) for gap in gaps]


IDLE = """
    main notes [s1           ][s2                                                            ]
    main ops                     [aten::item          ]  [aten::mm                ]
    main calls  [launch corr=1]    [wait corr=3     ]        [launch corr=2]
    gpu  kernel    [k corr=1         ]                            [k corr=2  ]
    """


def test_gaps_by_cause_row_and_sync(tmp_path: Path) -> None:
    context = context_of(tmp_path, IDLE)
    gaps, rows = context.gaps, context.rows
    of_sync = gaps_of(context, gaps.of(Cause.SYNC))
    assert [cause for cause, _ in of_sync] == ["SYNC"]
    assert gaps_of(context, gaps.of_syncs(np.array([0]))) == of_sync
    assert gaps.of_syncs(np.array([1])).tolist() == []
    launched = gaps.at(rows.named(NAMES["launch"]), Cause.LAUNCH)
    assert {cause for cause, _ in gaps_of(context, launched)} == {"LAUNCH"}
    assert gaps.at(rows.named("aten::item"), *Cause).tolist() == []
    assert gaps.us_per_step(gaps.of(Cause.SYNC)) == of_sync[0][1]
    both = gaps_of(context, gaps.of(Cause.SYNC, Cause.LAUNCH))
    assert {cause for cause, _ in both} == {"SYNC", "LAUNCH"}


def test_gaps_before_the_steps_that_count_are_left_out(tmp_path: Path) -> None:
    context = context_of(tmp_path, IDLE)
    table = context.analysis.gaps
    every = context.gaps.of(*Cause)
    begin = context.analysis.steps.window[1, 0]
    assert every.tolist() == np.flatnonzero(table.start >= begin).tolist()
    assert 0 < len(every) < len(table)


ACROSS = """
    main  notes [s1                  ][s2                     ][s3                         ]
    main  calls   [launch corr=1]        [launch corr=2]                [launch corr=3]
    gpu   kernel       [k corr=1   ]          [k corr=2   ]                  [k corr=3    ]
    """
"""4 us of the gap after the second kernel lie in the second step, 14 in the third."""


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (["2"], [("LAUNCH", 8), ("LAUNCH", 4)]),
        (["3"], [("LAUNCH", 14), ("UNKNOWN", 1)]),
        (None, [("LAUNCH", 8), ("LAUNCH", 4), ("LAUNCH", 14), ("UNKNOWN", 1)]),
    ],
    ids=["where it begins", "where it ends", "both"],
)
def test_of_a_gap_across_steps_each_has_its_part(
    tmp_path: Path, steps: list[str] | None, found: list[tuple[str, int]]
) -> None:
    context = context_of(tmp_path, ACROSS, steps)
    gaps = context.gaps.of(*Cause)
    assert gaps_of(context, gaps) == found
    assert context.gaps.us_per_step(gaps) == context.steps.idle_us


def test_a_gap_after_a_step_is_in_none(tmp_path: Path) -> None:
    """It begins the moment that the step ends, and no step follows."""
    picture = """
        main  notes [s1                  ]
        main  calls   [launch corr=1]                     [launch corr=2]
        gpu   kernel       [k corr=1     ]                     [k corr=2]
        """
    context = context_of(tmp_path, picture)
    assert gaps_of(context, context.gaps.of(*Cause)) == [("LAUNCH", 2), ("LAUNCH", 5)]
    assert context.analysis.gap_step.tolist() == [0, 0, -1]


@pytest.mark.parametrize(("begin", "found"), [(1, 2), (3, 0)])
def test_a_gap_across_steps_lies_within_spans_as_a_whole(
    tmp_path: Path, begin: int, found: int
) -> None:
    """Spans leave out 1 or 3 of its 18 us, all of them in the second step."""
    context = context_of(tmp_path, ACROSS)
    _, first, second = context.gaps.of(Cause.LAUNCH).tolist()
    table = context.analysis.gaps
    spans = np.array([[table.start[first] + 1000 * begin, table.end[second]]])
    assert len(context.gaps.within(spans, Cause.LAUNCH)) == found


@pytest.mark.parametrize(("share", "found"), [(0.89, 0), (0.9, 1), (1.0, 1)])
def test_a_gap_lies_within_spans_to_nine_tenths(tmp_path: Path, share: float, found: int) -> None:
    context = context_of(tmp_path, IDLE)
    (gap,) = context.gaps.of(Cause.SYNC)
    table = context.analysis.gaps
    end = table.start[gap] + int(share * table.duration[gap])
    spans = np.array([[table.start[gap], end]])
    assert len(context.gaps.within(spans, Cause.SYNC)) == found
    assert context.gaps.within(spans, Cause.COPY).tolist() == []


# What was recorded


def test_what_of_the_recording_slows_the_host(tmp_path: Path) -> None:
    plain = context_of(tmp_path, PICTURE)
    assert (plain.with_stacks, plain.with_shapes) == (False, False)
    stacks = context_of(tmp_path, "main python [train.py(1):f ]")
    assert (stacks.with_stacks, stacks.with_shapes) == (True, False)
    drawn = grid.events("main ops [aten::mm   ]")
    drawn[0]["args"]["Input Dims"] = [[2, 3]]
    selection = select(load(grid.write(tmp_path / "trace.json", drawn)), None)
    shapes = Context(selection, RULES)
    assert (shapes.with_stacks, shapes.with_shapes) == (False, True)


def test_each_sync_is_explained_by_the_first_rule_that_claims_it(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::item     ]  [aten::mm ]
        main calls   [wait corr=3]                 [waitall corr=4] [waitall corr=5]
        """
    context = context_of(tmp_path, picture)
    ids = [RULES[rule].id if rule >= 0 else None for rule in context.explained.tolist()]
    assert ids == ["sync-scalar-item", "sync-explicit", None]
    scalar = next(rule for rule in RULES if rule.id == "sync-scalar-item")
    last = next(rule for rule in RULES if rule.id == "sync-in-operator")
    assert context.explained_by(scalar).tolist() == [True, False, False]
    assert not context.explained_by(last).any()
