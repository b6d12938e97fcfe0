"""What the verdict says would have to change, by hand. One character is 100 us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report.verdicts import DATA, PACE, made, report
from rules.eager import ADD, operators, row
from simulation import drawn


def test_gaps_too_short_for_anything_else_are_the_pace_of_launches(tmp_path: Path) -> None:
    found = made(tmp_path, operators(PACE)).verdict
    assert found.sentence.endswith("Launch less: use torch.compile or CUDA graphs.")


@pytest.mark.parametrize(
    ("launches", "remedy"), [(9, "Most of it may be setup"), (10, "Launch less")]
)
def test_a_snippet_of_few_launches_is_not_to_launch_less(
    tmp_path: Path, launches: int, remedy: str
) -> None:
    assert remedy in made(tmp_path, operators(PACE[:launches])).verdict.sentence


def test_compiled_code_is_not_to_be_compiled(tmp_path: Path) -> None:
    region = row("cpu_op", "Torch-Compiled Region: 0/0", 999, 700)
    found = made(tmp_path, [region, *operators(PACE)]).verdict
    assert found.sentence.endswith("Launch less: use CUDA graphs.")


@pytest.mark.parametrize("graphs", [True, False])
def test_where_graphs_are_replayed_the_rest_is_to_launch_less(tmp_path: Path, graphs: bool) -> None:
    region = row("cpu_op", "Torch-Compiled Region: 0/0", 999, 700)
    events = operators(PACE)
    if graphs:
        launch = [each for each in events if each["name"] == "cudaLaunchKernel"]
        launch[-1]["name"] = "cudaGraphLaunch"
    found = made(tmp_path, [region, *events]).verdict
    assert found.sentence.endswith("Launch less outside of CUDA graphs.") == graphs
    assert len(found.sentence.split()) <= 25


WAITS_FOR_RANKS = """
    main notes [ProfilerStep#1                                            ]
    main ops   [work][c10d::allreduce_][work]                      [work  ]
    gloo notes           [gloo:all_reduce                        ]
"""

COMPUTES_MOSTLY = """
    main notes [ProfilerStep#1                                            ]
    main ops   [work][c10d::allreduce_][work]    [work                    ]
    gloo notes           [gloo:all_reduce        ]
"""


@pytest.mark.parametrize(
    ("picture", "bound"), [(WAITS_FOR_RANKS, "communication"), (COMPUTES_MOSTLY, "unknown")]
)
def test_waiting_for_ranks_decides_whatever_a_device_did(
    picture: str, bound: str, tmp_path: Path
) -> None:
    found = report(tmp_path, picture).verdict
    assert (found.bound, found.device_us) == (bound, None)


def test_idle_time_of_unknown_cause_is_not_a_collectives(tmp_path: Path) -> None:
    """The device waits 0.1 ms between collectives, 3.2 ms for what the window does not show."""
    picture = """
        main ops   [aten::mm                                                 ]
        main calls [launch corr=1]
        gpu kernel [nccl corr=1] [nccl corr=1]
        """
    assert report(tmp_path, picture).verdict.sentence.endswith("Why the device idles is unknown.")


@pytest.mark.parametrize(
    ("before", "remedy"), [(3000, "Why the device idles is unknown."), (1000, "Launch less")]
)
def test_idle_time_most_of_which_is_unknown(tmp_path: Path, before: int, remedy: str) -> None:
    """Nothing is recorded before the first of 90 launches, in whose pauses it idles 1.4 ms."""
    begins = row("cuda_runtime", "cudaMalloc", 1000 - before, 5)
    sentence = made(tmp_path, [begins, *operators(PACE * 3)]).verdict.sentence
    assert remedy in sentence


def test_idle_time_most_of_which_is_unknown_may_be_set_up(tmp_path: Path) -> None:
    begins = row("cuda_runtime", "cudaMalloc", -8000, 5)
    bursts = [*operators(PACE), *operators(PACE, start=5000)]
    sentence = made(tmp_path, [begins, *bursts]).verdict.sentence
    assert sentence.endswith("Most of it may be setup: mark the steps.")


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        ("cudaMalloc", "The device idles for allocation: reuse or save memory."),
        ("work", "They wait for each other: overlap them."),
    ],
)
def test_one_call_that_holds_the_host_is_what_to_begin_with(
    call: str, remedy: str, tmp_path: Path
) -> None:
    """Host and device take turns; nearly all of the idle time is in it."""
    picture = f"""
        main notes [ProfilerStep#1                                                          ]
        main calls [launch corr=1][wait      ][{call:19}][launch corr=2][wait        ]
        gpu kernel  [k corr=1               ]                   [k corr=2                  ]
        """
    assert report(tmp_path, picture).verdict.sentence.endswith(remedy)


def test_without_steps_allocations_may_be_set_up(tmp_path: Path) -> None:
    picture = f"""
        main calls [launch corr=1][wait      ][cudaMalloc{"":230}][launch corr=2][wait        ]
        gpu kernel  [k corr=1               ]{"":249}[k corr=2                  ]
        """
    sentence = report(tmp_path, picture).verdict.sentence
    assert sentence.endswith("Most of it may be setup: mark the steps.")


def test_it_is_also_where_the_device_starts_late_for_no_known_reason(tmp_path: Path) -> None:
    picture = f"""
        main notes [ProfilerStep#1{"":380}]
        main calls  [launch corr=1][launch corr=3][wait{"":41}][cudaMalloc{"":228}][launch corr=2][wait{"":56}]
        gpu kernel       [k corr=1     ]{"":43}[k corr=3   ]{"":245}[k corr=2{"":62}]
        """
    sentence = report(tmp_path, picture).verdict.sentence
    assert sentence.endswith("The device idles for allocation: reuse or save memory.")


@pytest.mark.parametrize(
    ("calls", "remedy"),
    [
        (f"[launch corr=2][wait{'':361}]", "Unexplained delays add to that."),
        (
            f"[wait{'':145}]{'':22}[launch corr=2][wait{'':189}]",
            "They wait for each other: overlap them.",
        ),
    ],
    ids=["in the queue", "not launched"],
)
def test_host_and_device_take_turns_only_where_the_host_is_why_that_idles(
    calls: str, remedy: str, tmp_path: Path
) -> None:
    """The second kernel begins 38 characters of 400 after the first; the host mostly waits."""
    picture = f"""
        main notes [ProfilerStep#1{"":384}]
        main calls [launch corr=1]{calls}
        gpu kernel      [k corr=1{"":150}]{"":38}[k corr=2{"":183}]
        """
    assert report(tmp_path, picture).verdict.sentence.endswith(remedy)


@pytest.mark.parametrize(
    ("late", "remedy"),
    [
        (80, "Most of it waits for collectives: compare the ranks."),
        (60, "They wait for each other: overlap them."),
    ],
)
def test_what_waits_for_a_late_rank_is_not_overlapped(
    late: int, remedy: str, tmp_path: Path
) -> None:
    """The host works and then waits; its device idles before the collective most of the time."""
    picture = f"""
        main notes [ProfilerStep#1{"":{late + 44}}]
        main ops                 [c10d::allreduce_]
        main calls [launch corr=1][launch corr=2][work{"":{late - 20}}][wait{"":14}][launch corr=3]
        gpu kernel  [k corr=1]{"":{late + 24}}[k corr=3]
        gpu copy    {"":{late + 10}}[H2D corr=2    ]
        """
    assert report(tmp_path, picture).verdict.sentence.endswith(remedy)


@pytest.mark.parametrize(
    ("before", "remedy"),
    [(60, "Work launched before takes 6.00 ms more."), (10, "Reduce device work first.")],
)
def test_what_was_launched_before_is_in_no_side(before: int, remedy: str, tmp_path: Path) -> None:
    """The device takes 5 ms for what the trace launches, and works on without a pause before."""
    picture = f"""
        main ops   [aten::mm     ]
        main calls  [launch corr=2]
        main calls                 [wait{"":{before + 32}}]
        gpu kernel [b corr=1{"":{before - 10}}][k corr=2{"":40}]
        """
    sentence = report(tmp_path, picture).verdict.sentence
    assert sentence.startswith("Device-bound: the device takes 5.00 ms in this trace")
    assert sentence.endswith(remedy)


@pytest.mark.parametrize(
    ("elements", "remedy"),
    [
        (9_000, "Collectives mostly wait for other ranks: compare them."),
        (9_000_000, "Overlap it, send less, or balance ranks."),
    ],
)
def test_collectives_that_last_too_long_for_what_they_move(
    elements: int, remedy: str, tmp_path: Path
) -> None:
    reduces = row("user_annotation", "gloo:all_reduce", 1010, 80_000, "gloo")
    reduces["args"] |= {"Input Dims": [[elements]], "Input type": ["float"]}
    rows = [
        row("user_annotation", "ProfilerStep#1", 1000, 80_100),
        row("cpu_op", "aten::mm", 1000, 5),
        row("cpu_op", "c10d::allreduce_", 1006, 20),
        reduces,
        row("cpu_op", "aten::mm", 81_015, 80),
    ]
    assert made(tmp_path, rows).verdict.sentence.endswith(remedy)


@pytest.mark.parametrize(
    ("bursts", "remedy"),
    [(2, "Most of it may be setup: mark the steps."), (5, "Most of it is work between launches.")],
)
def test_long_gaps_without_steps_may_be_set_up(bursts: int, remedy: str, tmp_path: Path) -> None:
    """They are longer than those of all launches together; four lie in a quarter of it each."""
    rows = [each for n in range(bursts) for each in operators(PACE, start=1000 + 4000 * n)]
    assert made(tmp_path, rows).verdict.sentence.endswith(remedy)


@pytest.mark.parametrize(
    ("second", "remedy"),
    [
        (430, "Most of it may be setup: mark the steps."),
        (200, "Most of it is work between launches."),
    ],
)
def test_long_gaps_recur_where_no_quarter_has_next_to_none(
    second: int, remedy: str, tmp_path: Path
) -> None:
    """Those of three quarters last 9.4 ms each, that of the second 1.4 or 6 ms."""
    counts, rows = (30, second, 30, 30, 30), []
    for n, count in enumerate(counts):
        rows += operators([("aten::add", ADD)] * count, start=1000 + 10_000 * n)
    assert made(tmp_path, rows).verdict.sentence.endswith(remedy)


@pytest.mark.parametrize(
    ("notes", "remedy"),
    [
        ("", "Most of the waiting may be setup: mark the steps."),
        (f"main notes [ProfilerStep#1{'':830}]", "They wait for each other: overlap them."),
    ],
    ids=["no steps", "a step"],
)
def test_without_steps_what_the_device_waits_for_may_be_set_up(
    notes: str, remedy: str, tmp_path: Path
) -> None:
    """It computes for 60 ms, and waits for 20 ms of Python before all but the first kernel."""
    calls = "".join(f"[launch corr={n}]" for n in range(2, 12))
    kernels = "".join(f"[k corr={n}{'':49}]" for n in range(2, 12))
    picture = f"""
        {notes}
        main calls [launch corr=1][wait]{"":200}{calls}[wait{"":440}]
        gpu kernel  [k corr=1       ]{"":204}{kernels}
        """
    sentence = report(tmp_path, picture).verdict.sentence
    assert sentence.startswith("Device-bound")
    assert sentence.endswith(remedy)
    assert len(sentence.split()) <= 25


def test_next_to_kernel_loading_too_most_may_be_set_up(tmp_path: Path) -> None:
    rows = [each for n in range(2) for each in operators(PACE, start=9000 + 4000 * n)]
    call = next(each for each in rows if each["cat"] == "cuda_runtime")
    rows[0]["ts"], call["ts"] = (each["ts"] - 8000 for each in (rows[0], call))
    rows[0]["dur"], call["dur"] = (each["dur"] + 8000 for each in (rows[0], call))
    sentence = made(tmp_path, rows).verdict.sentence
    assert sentence.endswith("Most may be setup (8.00 ms of kernel loading): warm up.")


def test_most_of_a_trace_without_steps_is_compilation(tmp_path: Path) -> None:
    """Between bursts in each quarter of it, and where no device is recorded."""
    rows = [each for n in range(5) for each in operators(PACE, start=1000 + 4000 * n)]
    rows += [compiling(2200 + 4000 * n, 2780) for n in range(4)]
    sentence = made(tmp_path, rows).verdict.sentence
    assert sentence.endswith("Most may be setup (11.1 ms of compilation): warm up.")
    assert len(sentence.split()) <= 25
    host = [each for each in rows if each["cat"] in ("cpu_op", "user_annotation")]
    sentence = made(tmp_path, host).verdict.sentence
    assert sentence.endswith(" in this trace. 11.1 ms of that is compilation: warm up.")
    assert len(sentence.split()) <= 25


def test_some_of_a_trace_without_steps_is_compilation(tmp_path: Path) -> None:
    """It is set-up, wherever it lies: no work between launches."""
    rows = [each for n in range(5) for each in operators(PACE, start=1000 + 2400 * n)]
    rows += [compiling(2200 + 2400 * n, 1100) for n in range(4)]
    sentence = made(tmp_path, rows).verdict.sentence
    assert sentence.endswith("Most of it may be setup: mark the steps.")


def compiling(start: float, length: float) -> dict[str, Any]:
    return row("user_annotation", "_compile.compile_inner (dynamo_timed)", start, length)


@pytest.mark.parametrize(
    ("loader", "steps", "remedy"),
    [
        ("next", False, "Its only batch may be setup."),
        ("next", True, "Use more workers to load data."),
        ("loader", False, "Use more workers to load data."),
    ],
)
def test_the_first_batch_of_workers_may_be_set_up(
    loader: str, steps: bool, remedy: str, tmp_path: Path
) -> None:
    """Without steps nothing says that it recurs."""
    rows = drawn.events(DATA)[0 if steps else 1 :]
    for each in rows:
        if each["name"] == drawn.NAMES["loader"] and loader == "next":
            each["name"] = each["name"].replace("_SingleProcess", "_MultiProcessing")
    found = made(tmp_path, rows)
    assert found.verdict.bound == "data"
    assert found.verdict.sentence.endswith(remedy)
    wait = [each for each in found.data.findings if each.rule == "loader-wait"]
    assert [len(each.caveats) for each in wait] == {"next": [int(not steps)], "loader": []}[loader]
    assert all((each.gain_us_per_step is None) == (not steps) for each in wait)
