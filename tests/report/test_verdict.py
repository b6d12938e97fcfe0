"""What decides the length of a step, by hand. One character is 100 us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import msgspec
import pytest
from rules.eager import ADD, operators, row
from simulation import drawn

from tb_hookview import markers
from tb_hookview.analysis.selection import Selection
from tb_hookview.document.markdown import bounded
from tb_hookview.loading import load
from tb_hookview.markers import MANIFEST_KEY
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.report.whatif import WhatIfs

HOST = """
    main notes [ProfilerStep#1                         ]
    main calls           [launch corr=1]  [launch corr=2]
    gpu kernel            [k corr=1]       [k corr=2]
"""
DEVICE = """
    main notes [ProfilerStep#1                            ]
    main calls [launch corr=1][wait                       ]
    gpu kernel  [k corr=1                                ]
"""
DATA = """
    main notes [ProfilerStep#1                                    ]
    main notes [loader                   ]
    main calls                            [launch corr=1][wait    ]
    gpu kernel                             [k corr=1             ]
"""
LOADED_HOST = """
    main notes [ProfilerStep#1                                    ]
    main notes [loader         ]
    main calls                  [launch corr=1]    [launch corr=2 ]
    gpu kernel                   [k corr=1             ][k corr=2]
"""
COMMUNICATION = """
    main notes [ProfilerStep#1                                             ]
    main calls [launch corr=1][launch corr=2][wait                         ]
    gpu kernel  [k corr=1]
    gpu kernel                 [nccl corr=2 stream=9                      ]
"""
EXPOSED = """
    main notes [ProfilerStep#1                                             ]
    main calls [launch corr=1]  [launch corr=2]    [wait                   ]
    gpu kernel  [k corr=1                     ]
    gpu kernel                                 [nccl corr=2 stream=9      ]
"""
EVEN = """
    main notes [ProfilerStep#1                    ]
    main calls [launch corr=1][wait                ]
    gpu kernel  [k corr=1                          ]
    main calls                                       [launch corr=2]
"""
ALL_EVEN = """
    main notes [ProfilerStep#1                        ]
    main calls [launch corr=1][launch corr=2][work    ]
    gpu kernel  [k corr=1                           ]
    gpu kernel                 [nccl corr=2 stream=9               ]
"""
TURNS = """
    main notes [ProfilerStep#1                            ]
    main calls              [launch corr=1][wait          ]
    gpu kernel               [k corr=1                   ]
"""
IN_PART = """
    main notes [ProfilerStep#1             ]
    main calls            [launch corr=1][w]
    gpu kernel             [k corr=1                   ]
"""
PAUSES = """
    main notes [ProfilerStep#1                                    ]
    main calls [launch corr=1][wait                               ]
    gpu kernel  [k corr=1]
"""
BUSY_BEFORE = """
    main notes [ProfilerStep#1                                    ]
    main calls [launch corr=1][wait                               ]
    gpu kernel                                [k corr=1           ]
"""
LOADS_KERNELS = """
    main notes [ProfilerStep#1                                            ]
    main calls [cuModuleLoad][launch corr=1][wait                         ]
    gpu kernel                [k corr=1                                  ]
"""
LOADS_AND_COMMUNICATES = """
    main notes [ProfilerStep#1                                            ]
    main calls [cuModuleLoad][launch corr=1][wait                         ]
    gpu kernel                [nccl corr=1                               ]
"""
HOST_NEXT = """
    main notes [ProfilerStep#1                                             ]
    main calls [launch corr=1]  [launch corr=2]            [work       ]    [work    ]
    gpu kernel  [k corr=1                           ]
    gpu kernel                                       [nccl corr=2 stream=9 ]
"""
NO_DEVICE = """
    main notes [ProfilerStep#1      ]
    main notes [loader  ]
    main ops             [aten::mm  ]
"""


def report(folder: Path, picture: str, *more: dict[str, Any]) -> Report:
    return made(folder, [*drawn.events(picture), *more])


def made(folder: Path, events: list[dict[str, Any]]) -> Report:
    return build_report(load(grid.write(folder / "t.json", events)))


CASES = {
    HOST: (
        "host",
        [4100, 0, 2000, 0],
        "Host-bound: the host takes 4.10 ms per step, the device 2.00 ms. Most of it is "
        "work between launches.",
    ),
    LOADED_HOST: (
        "host",
        [3500, 1700, 3300, 0],
        "Host-bound: host and data loading take 5.20 ms per step, the device 3.30 ms. Launch less: "
        "use torch.compile or CUDA graphs.",
    ),
    DATA: (
        "data",
        [1500, 2700, 2300, 0],
        "Data-loading-bound: loading and host work take 4.20 ms per step, the device 2.30 ms. Use "
        "more workers to load data.",
    ),
    DEVICE: (
        "device",
        [1500, 0, 4200, 0],
        "Device-bound: the device takes 4.20 ms per step, the host 1.50 ms. Reduce device work "
        "first.",
    ),
    COMMUNICATION: (
        "communication",
        [3000, 0, 1000, 4400],
        "Communication-bound: collectives and device work take 4.40 ms per step, the host 3.00 ms. "
        "Overlap it, send less, or balance ranks.",
    ),
    EXPOSED: (
        "communication",
        [3600, 0, 3100, 2800],
        "Communication-bound: collectives and device work take 5.90 ms per step, the host 3.60 ms. "
        "Overlap it, send less, or balance ranks.",
    ),
    EVEN: (
        "even",
        [3600, 0, 3600, 0],
        "Host and device are even: 3.60 ms and 3.60 ms per step. Speeding up only one "
        "saves little.",
    ),
    ALL_EVEN: (
        "even",
        [4000, 0, 3700, 3700],
        "Nearly even: host 4.00 ms, device 3.70 ms, communication 3.70 ms per step. They overlap "
        "only in part: overlap them more.",
    ),
    TURNS: (
        "even",
        [2800, 0, 2900, 0],
        "Host and device are even: 2.80 ms and 2.90 ms per step. They wait for each other: overlap "
        "them.",
    ),
    IN_PART: (
        "even",
        [2900, 0, 2900, 0],
        "Host and device are even: 2.90 ms and 2.90 ms per step. They overlap only in part: "
        "overlap them more.",
    ),
    PAUSES: (
        "unknown",
        [1500, 0, 1000, 0],
        "Unknown: unexplained delays are longer than the device's 1.00 ms and the host's 1.50 ms "
        "per step.",
    ),
    BUSY_BEFORE: (
        "device",
        [1500, 0, 2100, 0],
        "Device-bound: the device takes 2.10 ms per step, the host 1.50 ms. Reduce device work "
        "first.",
    ),
    LOADS_KERNELS: (
        "device",
        [1500, 0, 4400, 0],
        "Device-bound: the device takes 4.40 ms per step, the host 1.50 ms. Kernel loading adds "
        "1.40 ms once: warm up first.",
    ),
    LOADS_AND_COMMUNICATES: (
        "communication",
        [1500, 0, 0, 4400],
        "Communication-bound: collectives take 4.40 ms per step, the host 1.50 ms. Kernel loading "
        "adds 1.40 ms once: warm up first.",
    ),
    NO_DEVICE: (
        "unknown",
        [1200, 1000, None, None],
        "Unknown, because the trace has no device events: the host takes 1.20 ms per step, data "
        "loading 1.00 ms.",
    ),
}


@pytest.mark.parametrize("picture", CASES)
def test_what_decides_is_the_longer_side(picture: str, tmp_path: Path) -> None:
    bound, times, sentence = CASES[picture]
    found = report(tmp_path, picture).verdict
    figures = [found.host_us, found.data_us, found.device_us, found.communication_us]
    assert (found.bound, figures, found.sentence) == (bound, times, sentence)


def test_without_marked_steps_the_host_is_all_of_its_threads(tmp_path: Path) -> None:
    """The other thread ends last, and does nothing but wait for the device."""
    picture = """
        main ops   [aten::mm                                      ]
        main calls    [launch corr=1]  [launch corr=2]
        gpu kernel     [k corr=1                                     ]
        gpu kernel                      [k corr=2 stream=9             ]
        other calls            [wait                                    ]
        """
    found = report(tmp_path, picture).verdict
    assert (found.bound, found.host_us, found.device_us) == ("even", 4800, 4700)


def test_without_most_launches_nothing_is_known(tmp_path: Path) -> None:
    found = report(tmp_path, DEVICE.replace("k corr=1", "k corr=9")).verdict
    assert (found.bound, found.step_us, found.host_us) == ("unknown", None, None)
    assert found.sentence.startswith("Unknown: too few device events have their launches")


def test_a_model_on_the_cpu_is_not_unknown(tmp_path: Path) -> None:
    """The recorder noted where the parameters are."""
    on_host = {MANIFEST_KEY: {"version": 1, "device": {"parameters": ["cpu"]}}}
    path = grid.write(tmp_path / "t.json", drawn.events(NO_DEVICE), **on_host)
    found = build_report(load(path)).verdict
    assert found.bound == "host"
    assert found.sentence == (
        "Host-bound: host and data loading take 2.20 ms per step. The model runs on the CPU."
    )


@pytest.mark.parametrize(
    ("devices", "only_cpu", "bound"),
    [
        ([], True, "host"),
        (["meta"], True, "host"),
        ([], None, "unknown"),
        (["cuda:0"], True, "unknown"),
    ],
)
def test_a_model_without_parameters_is_on_the_cpu_where_torch_used_no_device(
    devices: list[str], only_cpu: bool | None, bound: str, tmp_path: Path
) -> None:
    listed = {"version": 1, "device": {"parameters": devices}, "only_cpu": only_cpu}
    path = grid.write(tmp_path / "t.json", drawn.events(NO_DEVICE), **{MANIFEST_KEY: listed})
    assert build_report(load(path)).verdict.bound == bound


@pytest.mark.parametrize(
    ("operator", "bound"),
    [
        ("aten::mkldnn_convolution", "host"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "host"),
        ("_C::onednn_mm", "host"),
        ("_C::cpu_attention_with_kv_cache", "host"),
        ("sgl-kernel::weight_packed_linear", "host"),
        ("aten::cudnn_convolution", "unknown"),
        ("aten::_to_cpu", "unknown"),
        ("fbgemm::cpu_to_gpu", "unknown"),
        ("onednn::qlinear_pointwise", "unknown"),  # XPU has it, too
    ],
)
def test_operators_that_only_a_cpu_runs_prove_it(operator: str, bound: str, tmp_path: Path) -> None:
    """The backward does not count: its operators do not say where they run."""
    rows = [
        *operators([("aten::add", ""), (operator, ""), (operator, "")]),
        *operators([("autograd::engine::evaluate_function: ConvolutionBackward0", "")] * 5),
    ]
    assert made(tmp_path, rows).verdict.bound == bound
    called = [*rows, row("cuda_runtime", "cudaLaunchKernel", 1001, 2)]
    assert made(tmp_path, called).verdict.bound == "unknown"
    recorded = [*rows, row("cuda_runtime", "cudaGetDeviceCount", 1001, 2)]
    assert made(tmp_path, recorded).verdict.bound == bound


def test_a_convolution_of_the_inputs_is_not_the_model(tmp_path: Path) -> None:
    rows = operators([("aten::mkldnn_convolution", ""), ("aten::mm", ""), ("aten::mm", "")])
    assert made(tmp_path, rows).verdict.bound == "unknown"
    node = row("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", 5000, 9)
    backward = row("cpu_op", "aten::mkldnn_convolution_backward", 5001, 7)
    assert made(tmp_path, [*rows, node, backward]).verdict.bound == "host", "inputs have none"


@pytest.mark.parametrize(("thread", "bound"), [("main", "host"), ("auto", "unknown")])
def test_a_backward_on_the_thread_that_calls_it_is_the_cpus(
    thread: str, bound: str, tmp_path: Path
) -> None:
    """That of a device has a thread of its own; what a number makes in both is the CPU's part."""
    picture = f"""
        main ops   [aten::mm seq=1][aten::mm seq=2][aten::mm seq=3]
        {thread} ops                                                [eval seq=3][eval seq=2]
        main ops                                                                             [eval seq=1]
        """
    assert report(tmp_path, picture).verdict.bound == bound
    named = f"{picture}main ops {' ' * 110}[mkl{' ' * 90}]\n"
    events = grid.events(named, {**drawn.NAMES, "mkl": "fbgemm::bounds_check_indices_cpu"})
    path = grid.write(tmp_path / "named.json", events)
    assert build_report(load(path)).verdict.bound == bound, "what is on the CPU beside it"


def test_half_of_the_nodes_say_enough(tmp_path: Path) -> None:
    """As where a forward runs twice, and one of the two results is dropped."""
    picture = """
        main ops   [aten::mm seq=1][aten::mm seq=2][aten::mm seq=3][aten::mm seq=4]
        main ops                                                                   [eval seq=4][eval seq=3]
        """
    assert report(tmp_path, picture).verdict.bound == "host"
    assert report(tmp_path, picture.replace("[eval seq=3]", "")).verdict.bound == "unknown"


PACE = [("aten::add", ADD)] * 30


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


EVEN_WITH_RANKS = """
    main notes [ProfilerStep#1                                             ]
    main ops   [work       ][c10d::allreduce_][work     ]          [work   ]
    gloo notes              [gloo:all_reduce                   ]
"""


def test_collectives_of_the_host_are_no_device(tmp_path: Path) -> None:
    root = {markers.MANIFEST_KEY: {"version": 1, "device": {"parameters": ["cpu"]}}}
    traced = grid.write(tmp_path / "t.json", drawn.events(EVEN_WITH_RANKS), **root)
    found = build_report(load(traced)).verdict
    assert (found.bound, found.device_us) == ("even", None)
    assert found.sentence.startswith("Neither host nor communication decides alone: ")


def test_a_collective_that_begins_late_as_the_first_event_waits_for_no_rank(tmp_path: Path) -> None:
    """What its device did before is not in the trace: unknown in idle time, and on the path."""
    picture = """
        main ops   [aten::mm                                  ][wait      ]
        main calls [launch corr=1]
        gpu kernel                                            [nccl corr=1]
        """
    found = report(tmp_path, picture)
    idle = found.data.steps[0].idle
    assert idle is not None
    assert (idle.unknown, idle.communication) == (2800.0, 0.0)
    assert found.verdict.bound == "host"
    path = {row.part: row.us for row in found.critical_path_work}
    assert path == {"unexplained": 4280.0, "communication": 1300.0, "wait": 20.0}


def test_what_the_device_did_not_run_in_time_may_decide(tmp_path: Path) -> None:
    """The host has launched the second kernel as the recording ends; by the first they are even."""
    picture = """
        main ops   [aten::mm                      ]
        main calls [launch corr=1][launch corr=2]
        gpu kernel  [k corr=1                      ]
        """
    verdict = report(tmp_path, picture).verdict
    assert verdict.bound == "unknown"
    assert verdict.sentence == (
        "Unknown: the recording ended before the device ran 50% of the launches; the host takes "
        "3.20 ms in this trace."
    )


def test_what_the_profiler_lost_of_the_device_may_decide(tmp_path: Path) -> None:
    """The second of three kernels is missing: how long the device worked is unknown."""
    picture = """
        main ops   [aten::mm                                     ]
        main calls [launch corr=1][launch corr=2][launch corr=3]
        gpu kernel  [k corr=1   ]                              [k corr=3]
        """
    verdict = report(tmp_path, picture).verdict
    assert verdict.bound == "unknown"
    lost = "the profiler lost the device events of 33% of the launches"
    assert verdict.sentence == f"Unknown: {lost}; the host takes 4.70 ms in this trace."


def test_the_profiler_may_have_lost_all_kernels(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::mm                                     ]
        main calls [launch corr=1][launch corr=2][copy corr=3   ]
        gpu  copy                                  [D2P corr=3 ]
        """
    lost = "the profiler lost the device events of 100% of the launches"
    sentence = report(tmp_path, picture).verdict.sentence
    assert sentence == f"Unknown: {lost}; the host takes 3.10 ms in this trace."


@pytest.mark.parametrize(("lacks", "bound"), [(0, "host"), (2, "unknown")])
def test_what_a_truncated_file_lacks_of_the_device_may_decide(
    lacks: int, bound: str, tmp_path: Path
) -> None:
    """Its operators, which come first, go on after the last launch that it has."""
    picture = """
        main ops   [aten::mm                                 ]
        main calls [launch corr=1]
        gpu kernel  [k corr=1   ]
        main calls                           [launch corr=2]
        gpu kernel                            [k corr=2    ]
        """
    listed = drawn.events(picture)
    path = grid.write(tmp_path / "t.json", listed[: len(listed) - lacks])
    path.write_text(path.read_text().removesuffix("]}"))
    verdict = build_report(load(path)).verdict
    assert verdict.bound == bound
    assert ("the file is truncated" in verdict.sentence) == (bound == "unknown")


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
        main calls [launch corr=1][launch corr=2][work{"":{late - 20}}][wait{"":14}][launch corr=3]
        gpu kernel  [k corr=1]{"":{late}}[nccl corr=2   ]        [k corr=3]
        """
    assert report(tmp_path, picture).verdict.sentence.endswith(remedy)


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


def test_next_to_kernel_loading_too_most_may_be_set_up(tmp_path: Path) -> None:
    rows = [each for n in range(2) for each in operators(PACE, start=9000 + 4000 * n)]
    call = next(each for each in rows if each["cat"] == "cuda_runtime")
    rows[0]["ts"], call["ts"] = (each["ts"] - 8000 for each in (rows[0], call))
    rows[0]["dur"], call["dur"] = (each["dur"] + 8000 for each in (rows[0], call))
    sentence = made(tmp_path, rows).verdict.sentence
    assert sentence.endswith("Most may be setup, like 8.00 ms of kernel loading: warm up.")


def test_most_of_a_trace_without_steps_is_compilation(tmp_path: Path) -> None:
    """Between bursts in each quarter of it, and where no device is recorded."""
    rows = [each for n in range(5) for each in operators(PACE, start=1000 + 4000 * n)]
    rows += [compiling(2200 + 4000 * n, 2780) for n in range(4)]
    sentence = made(tmp_path, rows).verdict.sentence
    assert sentence.endswith("Most may be setup, like 11.1 ms of compilation: warm up.")
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


def test_the_first_launch_of_a_kernel_is_in_no_length(tmp_path: Path) -> None:
    """It loads for 900 us, as long as all that the device does: 18 kernels of 50 us."""
    rows = operators([("aten::mul", "mul"), *PACE[:17]], kernel=50)
    call, kernel = (next(r for r in rows if r["cat"] == cat) for cat in ("cuda_runtime", "kernel"))
    rows[0]["ts"], call["ts"] = (each["ts"] - 900 for each in (rows[0], call))
    rows[0]["dur"], call["dur"] = (each["dur"] + 900 for each in (rows[0], call))
    kernel["ts"] = call["ts"] + 900
    for number, each in enumerate(each for each in rows if each["cat"] == "kernel"):
        each["ts"] = kernel["ts"] + 50 * number
    found = made(tmp_path, rows)
    assert (found.verdict.bound, found.verdict.once_us) == ("device", 900)
    assert found.verdict.sentence.endswith("Kernel loading adds 900 us once: warm up first.")
    warm = found.whatif(scale={"kernel_loading": 0})
    assert (warm.predicted_us, warm.unexplained_us) == ((warm.replayed_us or 0) - 900, 0)
    (once,) = [each for each in found.data.findings if each.rule == "kernel-first-use"]
    assert once.once_us == found.verdict.once_us
    assert "scale kernel_loading" in (found.whatif(without=[once.id]).refused or "")


def test_pauses_between_events_of_earlier_steps_are_of_those(tmp_path: Path) -> None:
    """50 kernels in a queue when the second step begins, 2 us apart, then its own 60."""
    rows = [row("user_annotation", f"ProfilerStep#{1 + i}", 1000 + 400 * i, 399) for i in range(2)]
    rows += operators(PACE + PACE[:20], start=1005, period=6)
    rows += operators(PACE + PACE, start=1405, period=6)
    for number, each in enumerate(each for each in rows if each["cat"] == "kernel"):
        each["ts"], each["dur"] = 1020 + 12 * number, 10
    found = made(tmp_path, rows).verdict
    assert (found.step_us, found.device_us) == (60 * 12, 60 * 12)


FAR_FROM_EVEN = """
    main notes [ProfilerStep#1                                    ]
    main calls [launch corr=1]             [wait]
    gpu kernel  [k corr=1                      ]
"""
"""Most of the host's time is hidden behind the device's."""


def test_two_sides_that_take_turns_are_not_called_even(tmp_path: Path) -> None:
    found = report(tmp_path, FAR_FROM_EVEN).verdict
    assert found.sentence.startswith("Neither host nor device decides alone: ")


NEARLY_EVEN = """
    main notes [ProfilerStep#1                                     ]
    main calls [launch corr=1]                      [launch corr=2]
    gpu kernel  [k corr=1                                              ]
    gpu kernel                                       [k corr=2 stream=9     ]
"""


def test_a_side_decides_only_with_the_critical_path_on_it(tmp_path: Path) -> None:
    """The stream that is never idle ends just before the one whose launch came late."""
    found = report(tmp_path, NEARLY_EVEN)
    assert (found.verdict.bound, found.verdict.sentence) == (
        "even",
        "Host and device are nearly even: 5.30 ms and 5.60 ms per step. Speeding up only one "
        "saves little.",
    )
    quicker_host = found.whatif(scale={"host": 0.9}).predicted_us
    quicker_device = found.whatif(scale={"kernels": 0.9}).predicted_us
    assert quicker_host < quicker_device, "although the device alone needs longer"


def test_a_trace_without_steps_is_one_step(tmp_path: Path) -> None:
    picture = "\n".join(line for line in HOST.splitlines() if "notes" not in line)
    found = report(tmp_path, picture).verdict
    assert " in this trace, " in found.sentence


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


@pytest.mark.parametrize("picture", CASES)
def test_what_ifs_agree(picture: str, tmp_path: Path) -> None:
    """Without its work the device's side takes nothing, and what is left has to be done."""
    made = report(tmp_path, picture)
    whole, found = made.whatif(), made.verdict
    assert found.step_us == whole.step_us
    for what, least in (("kernels", found.host_side_us), ("host", found.device_side_us)):
        left = made.whatif(scale={what: 0}).predicted_us
        unseen = what == "kernels" and found.bound == "unknown" and found.device_us is None
        assert (left is None) == unseen
        assert left is None or left >= (least or 0.0)


def test_it_comes_first_wherever_a_report_is_shown(tmp_path: Path) -> None:
    made = report(tmp_path, HOST)
    sentence = made.verdict.sentence
    assert str(made).splitlines()[1] == sentence
    assert sentence in bounded(made.summary, 3).splitlines()[3]
    assert sentence in made._repr_html_()
    assert msgspec.json.decode(made.to_json())["verdict"]["sentence"] == sentence


def test_what_saves_nothing_now_says_what_has_to_get_faster_first(tmp_path: Path) -> None:
    """A float64 product on a device that waits for the host."""
    found = report(tmp_path, HOST.replace("[k corr=1]", "[dgemm corr=1]"))
    (row,) = [each for each in found.data.findings if each.rule == "fp64-kernels"]
    assert (row.gain_us_per_step, row.saves_after) == (0, "host")
    assert row.caveats[-1] == "It saves almost nothing now: the host has to get faster first."
    assert found.data.findings[-1] == row


@pytest.mark.parametrize(("last", "after"), [(True, None), (False, "host")])
def test_what_saves_most_of_its_cost_needs_nothing_first(
    last: bool, after: str | None, tmp_path: Path
) -> None:
    """A float64 product that outlasts the host by 13 us of 4 ms, or not at all."""
    calls = [("aten::mm", "volta_dgemm_64x64_nn"), ("aten::empty", "")]
    product = operators(calls, start=5000, kernel=44)
    rest = operators([("aten::add", ADD)] * 198, start=1020 if last else 5100)
    found = made(tmp_path, [*product, *rest])
    (row,) = [each for each in found.data.findings if each.rule == "fp64-kernels"]
    assert row.saves_after == after


FILLED = """
    main notes [ProfilerStep#1                               ]
    main calls [launch corr=1]
    main ops                   [work                         ]
    gpu  kernel                [k corr=1                      ]
"""


def test_a_side_that_fills_the_step_decides_it(tmp_path: Path) -> None:
    """Also where most of the critical path is of the other one, which ends last."""
    found = report(tmp_path, FILLED).verdict
    assert (found.bound, found.host_us, found.device_us) == ("host", 4700, 3200)


BEFORE = """
    main notes [ProfilerStep#1                               ]
    main calls                            [launch corr=9]
    main ops                                             [work]
    gpu  kernel [k corr=1                 ]         [k corr=9]
"""


@pytest.mark.parametrize("earlier", [True, False])
def test_a_step_that_runs_earlier_work_tells_no_bottleneck(earlier: bool, tmp_path: Path) -> None:
    """What was launched before the recording is in no side's time."""
    picture = BEFORE if earlier else BEFORE.replace("[k corr=1                 ]", " " * 27)
    found = report(tmp_path, picture).verdict
    assert found.bound == ("unknown" if earlier else "host")
    said = found.sentence.startswith(
        "Unknown: for 57% of the time the device ran what was launched"
    )
    assert said == earlier


def test_neither_does_one_with_as_much_work_of_its_own(tmp_path: Path) -> None:
    """Without the earlier work host and device are even."""
    longer = BEFORE.replace("[k corr=9]", f"[k corr=9{' ' * 37}]")
    even = longer.replace("[k corr=1                 ]", " " * 27)
    found = [report(tmp_path, picture).verdict.bound for picture in (longer, even)]
    assert found == ["unknown", "even"]


@pytest.mark.parametrize(("launches", "refused"), [(2, False), (3, True)])
def test_most_launches_without_events_are_no_basis_of_a_what_if(
    launches: int, refused: bool, tmp_path: Path
) -> None:
    later = " ".join(["[launch corr=8]", "[launch corr=9]"][: launches - 1])
    picture = f"""
        main notes [ProfilerStep#1                                        ]
        main calls  [launch corr=1] {later}
        gpu  kernel       [k corr=1   ]
        """
    analysis = load(grid.write(tmp_path / "t.json", drawn.events(picture)))
    answer = WhatIfs(Selection(analysis, None)).answer(scale={"kernels": 0.5})
    assert ("% of the launches have no device events" in (answer.refused or "")) == refused
