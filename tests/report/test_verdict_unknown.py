"""Where what decides the length of a step is unknown, by hand. One character is 100 us."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from report.verdicts import DEVICE, NO_DEVICE, made, report
from rules.eager import operators, row
from simulation import drawn

from tb_hookview.analysis.selection import Selection
from tb_hookview.document.plain import plain_text
from tb_hookview.loading import load
from tb_hookview.markers import MANIFEST_KEY
from tb_hookview.report.build import build_report
from tb_hookview.report.whatif import WhatIfs
from tb_hookview.report.whatif_document import what_if_document

LOST = (
    "60% of the launches have no device events in the trace: how long most of the work takes is "
    "not known"
)


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


@pytest.mark.parametrize(
    ("captured", "after", "bound"),
    [
        ("[launch] [launch]", "launch", "unknown"),
        ("[launch]", "launch", "host"),
        ("[launch] [launch]", "cudaGraphLaunch", "host"),
    ],
)
def test_what_is_captured_and_never_replayed_may_decide(
    captured: str, after: str, bound: str, tmp_path: Path
) -> None:
    picture = f"""
        main ops   [aten::add]                           [aten::mm          ]
        main calls             [cudaStreamBeginCapture]  {captured:17} [cudaStreamEndCapture]
        main calls {" " * 95} [{after} corr=2]
        gpu  kernel{" " * 95}   [k corr=2]
        """
    found = report(tmp_path, picture).verdict
    assert found.bound == bound
    assert ("most launches (67%) were captured" in found.sentence) == (bound == "unknown")


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


def test_a_device_that_decides_though_some_of_its_work_is_missing_takes_at_least_that(
    tmp_path: Path,
) -> None:
    picture = """
        main ops   [aten::mm                      ]
        main calls [launch corr=1][launch corr=2]
        gpu kernel  [k corr=1                                                          ]
        """
    assert report(tmp_path, picture).verdict.sentence == (
        "Device-bound: the device takes at least 6.80 ms in this trace, the host 3.20 ms. "
        "Reduce device work first."
    )


@pytest.mark.parametrize(("length", "bound"), [(110, "unknown"), (20, "host")])
def test_one_long_kernel_that_did_not_run_in_time_may_decide(
    length: int, bound: str, tmp_path: Path
) -> None:
    """The second is 1 of 12 launches; the first took longer than half of the host's time."""
    launches = "".join(f"[launch corr={number}]".ljust(17) for number in range(1, 13))
    short = "".join(f"[k corr={number}]" for number in range(2, 12))
    long = "[k corr=1".ljust(length - 1) + "]"
    picture = f"""
        main ops   [aten::bmm     ]{"[aten::mm".ljust(169)}][aten::bmm       ]
        main calls {launches}
        gpu kernel  {long}{short}
        """
    verdict = report(tmp_path, picture).verdict
    assert verdict.bound == bound
    lost = (
        "Unknown: the recording ended before the device ran work of about 11.0 ms; the host takes "
    )
    assert verdict.sentence.startswith(lost) == (bound == "unknown")


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
    data = report(tmp_path, picture)
    found = data.verdict
    assert found.bound == ("unknown" if earlier else "host")
    assert bool(data.critical_path_work) == (not earlier)
    said = found.sentence.startswith(
        "Unknown: for 57% of the time the device ran what was launched"
    )
    assert said == earlier
    answer = WhatIfs(Selection(load(tmp_path / "t.json"), None)).answer(scale={"kernels": 0.5})
    text = plain_text(what_if_document(data.data, answer, (), {"kernels": 0.5}))
    assert (found.sentence in text) == earlier


def test_what_the_host_did_before_its_first_row_is_no_work_of_it(tmp_path: Path) -> None:
    """The device ran what was queued; where a step is marked the host was in it."""
    picture = """
        main ops                              [aten::mm                         ]
        main calls                            [launch corr=9]
        gpu  kernel [k corr=1   ]               [k corr=9                         ]
        """
    found = report(tmp_path, picture).verdict
    assert (found.step_us, found.host_us) == (6300, 3500)
    marked = f"{picture}main notes  [ProfilerStep#1{' ' * 47}]\n"
    assert report(tmp_path, marked).verdict.host_us == 6300


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


@pytest.mark.parametrize(("lost", "refused"), [(2, False), (3, True)])
def test_nor_of_a_gain(lost: int, refused: bool, tmp_path: Path) -> None:
    later = "".join(f"[launch corr={number}]" for number in range(7, 7 + lost))
    picture = f"""
        main notes [ProfilerStep#1{" " * 95}]
        main ops                  [aten::item           ]
        main calls [launch corr=1][wait                 ][launch corr=2]{later}
        gpu kernel [k corr=1                           ]  [k corr=2 ]
        """
    analysis = load(grid.write(tmp_path / "t.json", drawn.events(picture)))
    (found,) = build_report(analysis).data.findings
    unknown = (found.gain_us_per_step is None, found.gain_bound_us_per_step is None)
    assert (found.rule, *unknown) == ("sync-scalar-item", refused, refused)
    assert found.gain_unknown == (f"not replayed: {LOST}" if refused else None)
    assert WhatIfs(Selection(analysis, None)).answer([found.id]).refused == (
        LOST if refused else None
    )


STEPS = """
    main notes [s0                   ][s1                   ][s2                   ][ProfilerStep#3       ]
    main calls  [launch corr=1]        [launch corr=2]        [launch corr=3]        [launch corr=4]
    gpu  kernel           [k corr=1]             [k corr=2]             [k corr=3]             [k corr=4]
    """


def test_steps_that_are_not_in_a_row_are_not_replayed(tmp_path: Path) -> None:
    loaded = load(grid.write(tmp_path / "t.json", drawn.events(STEPS)))
    apart = build_report(loaded, ["ProfilerStep#1", "ProfilerStep#3"]).verdict
    assert apart.sentence.startswith("Unknown: other steps lie between the chosen ones.")
    assert build_report(loaded, ["ProfilerStep#2", "ProfilerStep#3"]).verdict.bound == "host"


def test_a_step_that_launched_nothing_is_replayed_with_those_around_it(tmp_path: Path) -> None:
    picture = STEPS.replace("[launch corr=3]", " " * 15).replace("[k corr=3]", " " * 10)
    loaded = load(grid.write(tmp_path / "t.json", drawn.events(picture)))
    found = build_report(loaded)
    assert [step.counts for step in found.steps] == [False, True, False, True]
    assert found.verdict.step_us == pytest.approx(2300, rel=0.01)
