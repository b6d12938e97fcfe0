from __future__ import annotations

from pathlib import Path

import grid
import numpy as np
import pytest
from shared_traces import shared_trace

from tb_hookview import markers
from tb_hookview.analysis.steps import Steps
from tb_hookview.errors import NotFoundError
from tb_hookview.loading import analyze, load
from tb_hookview.report.build import build_report

EVALUATE = "autograd::engine::evaluate_function: "
NAMES = {
    "fc": markers.encode("forward", "fc", "Linear"),
    "mm'": EVALUATE + "MmBackward0",
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    "load": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "adam": "Optimizer.step#Adam.step",
    "launch": "cudaLaunchKernel",
}
PICTURE = """
    main notes [s1                                                 ][s2                                     ]
    main notes                                            [load   ]                     [adam   ]
    main ops    [fc              ]  [mm' seq=4 F=1       ]          [fc              ]   [a::b]
    main ops     [aten::mm seq=4]                                    [aten::mm seq=4]
    main calls   [launch corr=1]      [launch corr=2]
    gpu  kernel     [k corr=1]             [k corr=2       ]
    """


def analysis(folder: Path):  # type: ignore[no-untyped-def]
    return load(grid.write(folder / "t.json", grid.events(PICTURE, NAMES)))


def test_of_two_steps_of_a_name_the_one_that_launched_is_chosen(tmp_path: Path) -> None:
    picture = PICTURE.replace("[s1 ", "[s2 ", 1)
    loaded = load(grid.write(tmp_path / "t.json", grid.events(picture, NAMES)))
    first, _ = build_report(loaded).data.steps
    (chosen,) = build_report(loaded, ["ProfilerStep#2"]).data.steps
    assert chosen.start_us == first.start_us


def test_phases_sum_to_the_step(tmp_path: Path) -> None:
    first, second = build_report(analysis(tmp_path)).data.steps
    assert (first.forward_us, first.backward_us, first.data_us) == (18, 22, 9)
    assert (second.forward_us, second.optimizer_us, second.backward_us) == (18, 9, 0)
    for step in (first, second):
        phases = (step.forward_us, step.backward_us, step.optimizer_us, step.data_us, step.other_us)
        assert sum(phases) == step.duration_us
    assert (first.device_busy_us, first.device_idle_us) == (27, first.duration_us - 27)
    assert (first.backward_idle_us, second.backward_idle_us) == (22 - 15, 0)


def test_a_closure_inside_the_optimizers_step_is_forward_and_backward(tmp_path: Path) -> None:
    """As Lightning runs them; what follows the closure is the optimizer's, its gaps are no phase's."""
    picture = """
    main notes [s1                                                              ]
    main notes  [adam                                                  ]
    main ops        [fc              ]  [mm' seq=4 F=1       ]   [a::b]  [a::c]
    main ops         [aten::mm seq=4]
    """
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, NAMES)))
    (step,) = build_report(made).data.steps
    assert (step.forward_us, step.backward_us, step.optimizer_us) == (18, 22, 10)
    assert step.other_us == step.duration_us - 18 - 22 - 10


def test_a_report_narrows_to_steps(tmp_path: Path) -> None:
    made = analysis(tmp_path)
    (fc,) = build_report(made, ["ProfilerStep#2"]).data.modules
    assert (fc.calls, fc.forward.host_us, fc.backward.host_us) == (1, 18, 0)
    (fc,) = build_report(made, ["1", "2"]).data.modules
    assert (fc.calls, fc.forward.host_us, fc.backward.host_us) == (2, 36, 22)


def test_reports_of_the_steps_sum_to_that_of_the_whole(tmp_path: Path) -> None:
    made = analysis(tmp_path)
    parts = [build_report(made, [step]).data for step in ("1", "2")]
    whole = build_report(made).data
    for field in ("backward_device_us", "forward_device_us", "optimizer_device_us", "sync_count"):
        assert sum(getattr(part.totals, field) for part in parts) == getattr(whole.totals, field)
    assert sum(p.coverage.backward_host_us for p in parts) == whole.coverage.backward_host_us


def test_an_unknown_step_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no step 'ProfilerStep#9'; there are ProfilerStep#1"):
        build_report(analysis(tmp_path), ["9"])


def test_steps_whose_marks_cross_do_not_overlap(tmp_path: Path) -> None:
    """The first mark ends 1 us after the second begins: that microsecond is the second step's."""
    picture = """
    main notes [s1       ]
    main notes           [s2         ]
    """
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, NAMES)))
    first, second = build_report(made).data.steps
    assert (first.duration_us, second.duration_us) == (10, 13)


def test_the_end_of_the_last_step_lies_in_it() -> None:
    window = np.array([[10, 20], [20, 30]])
    steps = Steps(("s1", "s2"), window, np.array([0, 0]), np.ones(2, bool), mark=window)
    assert steps.at(np.array([9, 10, 20, 30, 31])).tolist() == [-1, 0, 1, 1, -1]


def test_without_steps_the_whole_trace_is_one(tmp_path: Path) -> None:
    made = load(grid.write(tmp_path / "t.json", grid.events("main ops [aten::mm]")))
    (step,) = build_report(made).data.steps
    assert step.name == "whole trace"


@pytest.mark.parametrize(
    ("launches", "counted"),
    [
        ("[launch corr=1] [launch corr=2] [launch corr=3]", [False, True, True]),
        ("[launch corr=1] [launch corr=2]", [False, True, False]),
        ("                [launch corr=2]", [False, True, False]),
        ("                [launch corr=2] [launch corr=3]", [False, False, True]),
        ("", [False, True, True]),
    ],
)
def test_the_first_step_and_those_without_launches_do_not_count(
    tmp_path: Path, launches: str, counted: list[bool]
) -> None:
    """Where no launch is known, a step counts in which the host did anything."""
    picture = f"""
    main notes [s1            ][s2            ][s3            ]
    main ops   [aten::a      ] [aten::a      ] [aten::a      ]
    main calls {launches}
    gpu  kernel [k corr=1]      [k corr=2]      [k corr=3]
    """
    events = grid.events(picture, {**NAMES, "s3": "ProfilerStep#3"})
    made = load(grid.write(tmp_path / "t.json", events))
    assert made.steps.counted.tolist() == counted


@pytest.mark.parametrize(
    ("last", "counted"),
    [("load", [False, True, False]), ("collect", [False, True, False]), ("a", [False, True, True])],
)
def test_a_step_after_the_last_batch_does_not_count(
    tmp_path: Path, last: str, counted: list[bool]
) -> None:
    """In it the loader is asked once more, or garbage is collected."""
    picture = f"""
    main notes [s1            ][s2            ][s3            ]
    main ops   [a            ] [a            ] [{last}       ]
    """
    names = {**NAMES, "s3": "ProfilerStep#3", "collect": f"{markers.COLLECTION}2"}
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    assert made.steps.counted.tolist() == counted


BACKWARD = "[mm'  ]"


@pytest.mark.parametrize(
    ("passes", "counted"),
    [
        ((BACKWARD, BACKWARD, ""), [False, True, False]),
        ((BACKWARD, "", ""), [False, True, True]),
        (("", "", ""), [False, True, True]),
        ((BACKWARD, BACKWARD, BACKWARD), [False, True, True]),
    ],
)
def test_a_last_step_that_alone_has_no_backward_pass_does_not_count(
    tmp_path: Path, passes: tuple[str, ...], counted: list[bool]
) -> None:
    """As where an exception ends the recording in the forward."""
    wide = len(BACKWARD) + 12
    marks = "".join(f"[s{number}".ljust(wide - 1) + "]" for number in (1, 2, 3))
    work = "".join(f" [a ] {each}".ljust(wide) for each in passes)
    picture = f"main notes {marks}\nmain ops   {work}"
    events = grid.events(picture, {**NAMES, "s3": "ProfilerStep#3"})
    made = load(grid.write(tmp_path / "t.json", events))
    assert made.steps.counted.tolist() == counted
    said = build_report(made).data.per_step.text
    assert ("the last has no backward pass" in said) is not counted[-1]


@pytest.mark.parametrize(
    ("launched", "ran", "counted"),
    [
        ((4, 4, 4), (4, 4, 4), [False, True, True]),
        ((4, 4, 4), (4, 4, 3), [False, True, False]),
        ((4, 4, 4), (4, 2, 0), [False, True, False]),
        ((4, 4, 4, 4), (4, 4, 2, 0), [False, True, False, False]),
        ((4, 4, 2), (4, 4, 2), [False, True, True]),
        ((4, 4, 2), (4, 4, 1), [False, True, False]),
        ((4, 4), (4, 1), [False, True]),
    ],
)
def test_steps_at_the_end_do_not_count_whose_device_work_is_missing(
    tmp_path: Path, launched: tuple[int, ...], ran: tuple[int, ...], counted: list[bool]
) -> None:
    """One that launches less than others counts, as does the only one but the first."""
    number, names, wide = iter(range(1, 99)), dict(NAMES), 4 * 17 + 2
    marks = calls = kernels = ""
    for place, (launches, events) in enumerate(zip(launched, ran, strict=True), 1):
        names[f"s{place}"] = f"ProfilerStep#{place}"
        of_step = [f"[launch corr={next(number)}]" for _ in range(launches)]
        done = [each.replace("launch", "k") for each in of_step[:events]]
        marks += f"[s{place}".ljust(wide - 1) + "]"
        calls += (" " + " ".join(each.ljust(16) for each in of_step)).ljust(wide)
        kernels += ("  " + " ".join(each.ljust(16) for each in done)).ljust(wide)
    picture = f"main notes {marks}\nmain calls {calls}\ngpu  kernel {kernels}"
    picture += f"\nmain ops   {'[a ]'.ljust(wide)}"
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    assert made.steps.counted.tolist() == counted
    data = build_report(made).data
    assert [step.counts for step in data.steps] == counted
    lost = len(counted) - 1 - sum(counted)
    text = "the last lacks" if lost == 1 else f"the last {lost} lack"
    assert (f"{text} device work" in data.per_step.text) is (lost > 0)
    assert "launched nothing" not in data.per_step.text


def test_the_times_of_a_step_add_up(tmp_path: Path) -> None:
    made = analysis(tmp_path)
    times = made.step_times
    assert times.device_busy is not None
    assert times.device_idle is not None
    assert times.idle is not None
    assert sum(times.phase).tolist() == times.duration.tolist()
    assert (times.device_busy + times.device_idle).tolist() == times.duration.tolist()
    assert sum(times.idle.values()).tolist() == times.device_idle.tolist()


def test_each_step_ends_where_it_does_or_where_the_next_begins(tmp_path: Path) -> None:
    picture = """
    main notes [s1     ] [s2      ]    [s3          ]
    """
    made = load(
        grid.write(tmp_path / "t.json", grid.events(picture, {**NAMES, "s3": "ProfilerStep#3"}))
    )
    assert made.step_times.duration.tolist() == [9000, 10_000, 14_000]
    assert made.steps.name == ("ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3")


def test_a_whole_trace_has_no_marking_thread_and_counts_if_it_did_anything(tmp_path: Path) -> None:
    steps = load(grid.write(tmp_path / "t.json", grid.events("main ops [aten::mm]"))).steps
    assert (steps.thread.tolist(), steps.counted.tolist()) == ([-1], [True])


def test_a_trace_of_a_device_alone_counts_if_the_device_did_anything(tmp_path: Path) -> None:
    picture = "gpu kernel [nchwToNhwcKernel] [fft2d_c2r_32x32    ] [nchwToNhwcKernel]"
    made = load(grid.write(tmp_path / "t.json", grid.events(picture)))
    assert made.steps.counted.tolist() == [True]
    data = build_report(made).data
    assert [step.counts for step in data.steps] == [True]
    assert "no-host" in [warning.code for warning in data.trace.warnings]
    assert "conv-layout-transpose" in [finding.rule for finding in data.findings]


def test_the_thread_that_marks_a_step(tmp_path: Path) -> None:
    picture = """
    main notes [s1     ]
    side notes            [s2     ]
    """
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, NAMES)))
    assert [made.trace.threads[thread].tid for thread in made.steps.thread] == ["main", "side"]


def test_without_device_events_their_times_are_unknown(tmp_path: Path) -> None:
    times = load(grid.write(tmp_path / "t.json", grid.events("main ops [aten::mm]"))).step_times
    assert (times.device_busy, times.device_idle, times.idle) == (None, None, None)
    assert (times.backward_idle, times.queue_full) == (None, None)


def test_the_queue_is_known_where_one_launch_is(tmp_path: Path) -> None:
    """The launch is the first row of the trace."""
    launched = "main calls [launch corr=1]\ngpu  kernel    [k corr=1]"
    made = load(grid.write(tmp_path / "t.json", grid.events(launched, NAMES)))
    assert made.step_times.queue_full is not None
    assert made.step_times.queue_full.tolist() == [0]
    alone = load(grid.write(tmp_path / "t.json", grid.events("gpu  kernel    [k corr=1]", NAMES)))
    assert alone.step_times.device_busy is not None
    assert alone.step_times.queue_full is None


def test_times_of_two_devices_are_added(tmp_path: Path) -> None:
    """In the 22 us of the node both devices idle, but for 6 and for 11 us."""
    picture = """
    main notes [s1                                                ]
    main ops    [fc              ]  [mm' seq=4 F=1       ]
    main ops     [aten::mm seq=4]
    gpu  kernel   [one  ]             [one ]
    gpu  kernel     [two           ]    [two      ]
    """
    drawn = grid.events(picture, NAMES)
    for event in drawn:
        if event["name"] == "two":
            event["pid"] = event["args"]["device"] = 1
        elif event["name"] == "one":
            event["args"]["device"] = 0
    times = load(grid.write(tmp_path / "t.json", drawn)).step_times
    assert times.device_busy is not None
    assert times.device_idle is not None
    assert times.backward_idle is not None
    busy = 7 + 6 + 16 + 11
    assert times.device_busy.tolist() == [busy * 1000]
    assert times.device_idle.tolist() == [(2 * 52 - busy) * 1000]
    assert times.backward_idle.tolist() == [(2 * 22 - 6 - 11) * 1000]


OPTIMIZED = {
    "sgd": "Optimizer.step#SGD.step",
    "ema": "Optimizer.step#EMA.step",
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
    "go": "cudaLaunchKernel",
}
LOOP = """
    main notes              [sgd  ]             [sgd  ][ema  ]            [ema      ]
    main notes                                                             [sgd  ]
    main ops  [aten::to]                                                                [aten::item]
    auto ops     [mm' F=1]         [mm' F=1]                    [mm' F=1]
    main calls    [go corr=1]      [go corr=2]                   [go corr=3]            [go corr=4]
    gpu  kernel     [k corr=1]       [k corr=2]                    [k corr=3]            [k corr=4]
    """


def test_without_marks_an_iteration_ends_with_the_optimizers_step(tmp_path: Path) -> None:
    """With the last where two follow one backward pass, or one is around the other."""
    made = load(grid.write(tmp_path / "t.json", grid.events(LOOP, OPTIMIZED)))
    data = build_report(made).data
    assert [(step.name, step.duration_us, step.counts) for step in data.steps] == [
        ("iteration 1", 21.0, False),
        ("iteration 2", 27.0, True),
        ("iteration 3", 23.0, True),
    ]
    assert data.per_step.marked
    assert data.per_step.text == (
        "mean of 2 of 3 steps, each to the end of Optimizer.step; the first warms up"
    )
    assert made.device_event_step.tolist() == [0, 1, 2, -1]
    assert build_report(made, ["iteration 3"]).data.steps[0].duration_us == 23.0


def test_marks_count_before_the_optimizer(tmp_path: Path) -> None:
    picture = f"    main notes [s1                                                          ]{LOOP}"
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, {**NAMES, **OPTIMIZED})))
    assert made.steps.name == ("ProfilerStep#1",)


def test_a_mark_around_an_annotation_alone_marks_a_step(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::mm]
        main notes            [s1          ]
        worker notes            [gloo:all_reduce]
        """
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, NAMES)))
    assert made.steps.name == ("ProfilerStep#1",)


def test_marks_in_which_nothing_begins_are_none(tmp_path: Path) -> None:
    """Some versions of torch mark the end of a step alone where Python stacks are recorded."""
    picture = """
        main python [train                              ]
        main ops     [aten::mm        ]
        main notes             [sgd  ]
        main notes                           [s1 ]
        """
    names = {**NAMES, **OPTIMIZED, "train": "train.py(3): train"}
    data = build_report(load(grid.write(tmp_path / "t.json", grid.events(picture, names)))).data
    (step,) = data.steps
    assert (step.name, step.optimizer_us) == ("whole trace", 7.0)
    (warning,) = (row for row in data.trace.warnings if row.code == "steps-without-work")
    assert (warning.count, warning.severity) == (1, "low")
    assert data.verdict.host_us == 19.0


def test_ranks_merged_into_one_file_have_the_steps_of_the_first(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::mm           ]     [aten::mm           ]
        main calls  [cudaLaunchKernel corr=1] [cudaLaunchKernel corr=2]
        main notes [s1                   ]  [s2                   ]
        gpu kernel   [k corr=1]               [k corr=2]
        """
    one = grid.events(picture, NAMES)
    other = [
        {**row, "pid": row["pid"] + 100, "ts": row["ts"] + 5}
        | {"args": {**row["args"], "correlation": row["args"].get("correlation", 0) + 100}}
        for row in one
    ]
    data = build_report(load(grid.write(tmp_path / "t.json", one + other))).data
    alone = build_report(load(grid.write(tmp_path / "one.json", one))).data
    assert [step.duration_us for step in data.steps] == [s.duration_us for s in alone.steps]
    (warning,) = (row for row in data.trace.warnings if row.code == "merged-processes")
    assert (warning.count, warning.severity) == (2, "high")
    assert (data.verdict.bound, alone.verdict.bound) == ("unknown", "host")
    assert data.verdict.sentence.startswith("Unknown: several processes mark steps")


def test_one_step_of_an_optimizer_is_no_loop(tmp_path: Path) -> None:
    picture = """
        main notes            [sgd  ]
        auto ops    [mm' F=1]
        """
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, OPTIMIZED)))
    assert made.steps.name == ("whole trace",)
    assert not made.steps.marked


STEPPED = {
    "s": "aten::add_",
    "n": EVALUATE + "AddmmBackward0",
    "g": "torch::autograd::AccumulateGrad",
    "z": "Optimizer.zero_grad#SGD.zero_grad",
    "c": "aten::_amp_foreach_non_finite_check_and_unscale_",
}


def turns(gradients: tuple[int, ...]) -> str:
    """Optimizer steps, each after a backward pass that accumulates N gradients."""
    return f"""
    main ops   {("[aten::mm]" + " " * 18 + "[s]").ljust(40) * len(gradients)}
    main notes {(" " * 27 + "[sgd ]").ljust(40) * len(gradients)}
    auto ops   {(" " * 11 + "[n F=1         ]").ljust(40) * len(gradients)}
    auto ops   {"".join((" " * 12 + "[g]" * count).ljust(40) for count in gradients)}
    """


@pytest.mark.parametrize(
    ("gradients", "iterations"),
    [
        pytest.param((1, 2, 1, 2), 2, id="two in turns"),
        pytest.param((1, 2, 2, 1, 2, 2), 2, id="three"),
        pytest.param((1, 1, 2, 1, 2, 1), 3, id="the first cut off"),
        pytest.param((1, 2, 1, 2, 1), 2, id="the last without its other"),
        pytest.param((2, 2, 2, 2), 4, id="one"),
        pytest.param((1, 2, 2, 1), 4, id="nothing repeats"),
    ],
)
def test_optimizers_that_take_turns_make_one_iteration(
    tmp_path: Path, gradients: tuple[int, ...], iterations: int
) -> None:
    names = {**OPTIMIZED, **STEPPED}
    made = load(grid.write(tmp_path / "t.json", grid.events(turns(gradients), names)))
    assert len(made.steps.name) == iterations
    phrase = "of Optimizer.step" if iterations == 4 else "optimizer steps"
    assert phrase in build_report(made).data.per_step.text


@pytest.mark.parametrize("accumulated", ["   ", "[g]"], ids=["autograd.grad", "zeroed"])
def test_a_pass_before_each_backward_is_no_skipped_step(tmp_path: Path, accumulated: str) -> None:
    """As that of adversarial training, whose gradients are zeroed if they are accumulated."""
    picture = f"""
    main ops   {"[aten::mm]               [aten::mm]              [s]".ljust(60) * 3}
    main notes {"                     [z]                     [sgd  ]".ljust(60) * 3}
    auto ops   {"           [n F=1   ]               [n F=1 ]".ljust(60) * 3}
    auto ops   {f"            {accumulated}                      [g]".ljust(60) * 3}
    """
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, {**OPTIMIZED, **STEPPED})))
    assert len(made.steps.name) == 3


MERGED = [33.0, 40.0, 80.0, 40.0]


@pytest.mark.parametrize(
    ("rows", "durations"),
    [
        pytest.param("[c][z]", [33.0, 40.0, 34.0, 46.0, 40.0], id="checked and zeroed"),
        pytest.param("[c]", MERGED, id="accumulated"),
        pytest.param("   [z]", MERGED, id="zeroed"),
    ],
)
def test_a_step_that_a_scaler_skips_ends_with_the_backward(
    tmp_path: Path, rows: str, durations: list[float]
) -> None:
    picture = f"{turns((1,) * 5)}main ops {(' ' * 33 + rows).ljust(40) * 5}\n"
    events = grid.events(picture, {**OPTIMIZED, **STEPPED})
    skipped = [row for row in events if row["name"] in (OPTIMIZED["sgd"], STEPPED["s"])][2::5]
    kept = [row for row in events if row not in skipped]
    for row in kept:
        if row["name"] == STEPPED["z"]:
            row["cat"] = "user_annotation"
    data = build_report(load(grid.write(tmp_path / "t.json", kept))).data
    assert [step.duration_us for step in data.steps] == durations
    phrase = "each to the end of Optimizer.step, or of the backward where"
    assert (phrase in data.per_step.text) == (durations != MERGED)


@pytest.mark.parametrize("logs", [False, True])
def test_the_end_of_an_iteration_is_known_however_long_nothing_happens(
    tmp_path: Path, logs: bool
) -> None:
    """Only the last step of a profiler ends with the profiler's own work. Not each of them logs."""
    iteration = """
    main ops  [aten::mm][aten::add]
    auto ops                       [mm' F=1]
    """
    rows = []
    for number, start in enumerate([0, 100, 200, 300, 100_000]):
        picture = iteration + ("main ops " + " " * 40 + "[i]\n" if logs and number % 2 else "")
        drawn = grid.events(picture, {**OPTIMIZED, "i": "aten::item"})
        rows += [{**event, "ts": event["ts"] + start} for event in drawn]
    data = build_report(load(grid.write(tmp_path / "t.json", rows))).data
    assert [step.duration_us for step in data.steps] == [100.0, 100.0, 100.0, 99_700.0]
    assert data.per_step.duration_us == 33_300


REPEATED = """
    main ops  [aten::mm][aten::add]          [aten::mm][aten::add]          [aten::mm][aten::add]
    auto ops                      [mm' F=1]                      [mm' F=1]                      [mm' F=1]
    """


MANY_IN_NODES = f"""{REPEATED}
    auto ops                       [a][a]                         [a][a]                         [a][a]
    auto ops                       [a][a]                         [a][a]                         [a][a]
    """


@pytest.mark.parametrize("picture", [REPEATED, MANY_IN_NODES], ids=["few", "many in nodes"])
def test_without_marks_and_optimizer_an_iteration_is_what_repeats(
    tmp_path: Path, picture: str
) -> None:
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, OPTIMIZED)))
    data = build_report(made).data
    assert [step.duration_us for step in data.steps] == [31.0, 31.0], "the third has no end"
    assert data.per_step.text == (
        "mean of 1 of 2 steps, each a repetition of the same operators; the first warms up"
    )


@pytest.mark.parametrize(
    ("node", "inside", "durations"),
    [
        pytest.param("[mm' F=1         ]", "[a]", [40.0, 40.0, 39.0], id="whole"),
        pytest.param("[mm' F=1         ]", "   ", [40.0, 40.0], id="cut off in a node"),
        pytest.param("[mm' F=1     ]", "[a]", [40.0, 40.0], id="something is between two"),
    ],
)
def test_the_last_iteration_ends_with_its_operators(
    tmp_path: Path, node: str, inside: str, durations: list[float]
) -> None:
    picture = f"""
    main ops  {"[aten::mm][aten::add]".ljust(40) * 3}
    auto ops  {(" " * 21 + node).ljust(40) * 3}
    auto ops  {(" " * 24 + "[a]").ljust(40) * 2 + " " * 24 + inside}
    """
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, OPTIMIZED)))
    assert (np.diff(made.steps.window).ravel() / 1000).tolist() == durations


def test_what_repeats_begins_with_what_is_around_it(tmp_path: Path) -> None:
    """What follows the last whole repetition is outside of all steps."""
    picture = f"""
    main notes {"[train" + " " * 100 + "]"}
    main notes {"  [call               ]        " * 3}
    main ops   {"     [aten::mm][aten::add]     " * 3}     [aten::mm]
    auto ops   {"                      [mm' F=1]" * 3}
    """
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, OPTIMIZED)))
    assert np.diff(made.steps.window).ravel().tolist() == [33_000, 31_000, 34_000]


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(
            """
            main ops  [aten::mm][aten::add][aten::mm][aten::add]
            auto ops                                            [mm' F=1][mm' F=1]
            """,
            id="equal layers of one forward",
        ),
        pytest.param(
            REPEATED.replace("]          [aten::mm]", "]          [aten::to]", 1),
            id="something else is done",
        ),
    ],
)
def test_what_repeats_and_is_no_loop(tmp_path: Path, picture: str) -> None:
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, OPTIMIZED)))
    assert made.steps.name == ("whole trace",)


ANNOTATED = """
    main notes     [call                  ]           [call      ]           [call      ]
    main notes                             [next    ]             [next    ]
    main ops   [in]   [aten::mm][aten::add]            [aten::mm]             [aten::mm]
    main calls         [go corr=1]                      [go corr=2]            [go corr=3]
    gpu  kernel          [k corr=1]                       [k corr=2]             [k corr=3]
    """
CALLS = {
    **OPTIMIZED,
    "next": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "net": "nn.Module: Net_0",
}
WHOLE = ANNOTATED.replace("[in]", "    ")


def test_without_marks_an_iteration_is_one_of_equal_annotations(tmp_path: Path) -> None:
    data = build_report(load(grid.write(tmp_path / "t.json", grid.events(WHOLE, CALLS)))).data
    assert [step.duration_us for step in data.steps] == [35.0, 23.0], "the third has no end"
    assert data.per_step.text == (
        "mean of 1 of 2 steps, each from one 'call' to the next; the first warms up"
    )


@pytest.mark.parametrize(
    ("first", "steps"),
    [
        ("[aten::mm]", ("iteration 1", "iteration 2")),
        ("[step    ]", ("whole trace",)),  # of which the others are microbatches
    ],
)
def test_annotated_training_may_do_something_before(
    tmp_path: Path, first: str, steps: tuple[str, ...]
) -> None:
    """The piece of an iteration that begins before the trace is of none."""
    picture = f"""
    main notes {" " * 12}[call      ]   [call      ]   [call      ]
    main {"notes" if "step" in first else "ops  "} {first}
    main ops    [to ]      [aten::mm]     [aten::mm]     [aten::mm]
    auto ops   {" " * 12}[mm' F=1]      [mm' F=1]      [mm' F=1]
    """
    names = {**OPTIMIZED, "step": "Optimizer.step#SGD.step"}
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    assert made.steps.name == steps
    if len(steps) > 1:
        assert np.diff(made.steps.window).ravel().tolist() == [15_000, 15_000]


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(ANNOTATED, id="an operator outside"),
        pytest.param(WHOLE.replace("[call  ", "[other ", 1), id="another annotation"),
        pytest.param(f"{WHOLE}other notes  [call  ]\n", id="two threads"),
        pytest.param(f"{WHOLE}auto ops  {' ' * 60}[mm' F=1]\n", id="parts of one forward"),
        pytest.param(f"{WHOLE}main python [net{' ' * 74}]\n", id="layers of one module"),
    ],
)
def test_equal_annotations_that_are_no_loop(tmp_path: Path, picture: str) -> None:
    made = load(grid.write(tmp_path / "t.json", grid.events(picture, CALLS)))
    assert made.steps.name == ("whole trace",)


@pytest.mark.parametrize(
    ("name", "iterations", "warm_up_us", "mean_us"),
    [
        ("tracelens_mi300_normalization", 3, 1_174_937.0, 2_987.208),
        ("tracelens_mi300_ddp_resnet18", 5, 118_240.0, 818_699.0),
        ("kineto_2021_resnet50_autograd_api", 6, 4_489_840.0, 160_168.0),
        ("param_rtx2080ti_resnet", 30, 4_764_477.0, 332_779.0),
    ],
)
def test_iterations_of_real_traces(
    name: str, iterations: int, warm_up_us: float, mean_us: float
) -> None:
    """By plain loops: ends of the rows `Optimizer.step#SGD.step`; the first call of each, and the
    end of the last node."""
    data = analyze(shared_trace(name)).data
    assert len(data.steps) == iterations
    assert data.steps[0].duration_us == pytest.approx(warm_up_us, rel=1e-5)
    assert data.per_step.duration_us == pytest.approx(mean_us, rel=1e-5)
    assert data.per_step.steps == iterations - 1
