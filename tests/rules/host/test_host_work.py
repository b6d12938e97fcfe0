"""`host-work`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from rules.diagnosed import Diagnosed, diagnosed
from support.loaded import loaded

from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.cost_accounting import findings as cost_findings
from tb_hookview.schema import Finding

RULE = "host-work"
FRAME = "my/package/pipeline.py(123): preprocess"
KERNELS = 12


def row(category: str, name: str, start: int, length: int, **args: int) -> dict[str, Any]:
    on_device = category == "kernel"
    event = {"ph": "X", "cat": category, "name": name, "ts": 1000 + start, "dur": length}
    return {**event, "pid": 0 if on_device else 77, "tid": 7 if on_device else 1, "args": args}


def burst(start: int, first: int) -> list[dict[str, Any]]:
    """Launches of twelve kernels, each longer than a launch, in 240 us and a little more."""
    events = []
    for i in range(KERNELS):
        events += [
            row("cuda_runtime", "cudaLaunchKernel", start + 10 * i, 5, correlation=first + i),
            row("kernel", "k", start + 8 + 20 * i, 20, correlation=first + i),
        ]
    return events


def trace(*inside: dict[str, Any], pause: int = 3000, marked: bool = True) -> list[dict[str, Any]]:
    """Two bursts of launches with a pause of the host between, in which rows lie."""
    end = 400 + pause + 400
    step = [row("user_annotation", "ProfilerStep#4", 0, end)] if marked else []
    main = row("cpu_op", "aten::mm", 1, 300)
    return [*step, main, *burst(10, 1), *inside, *burst(400 + pause, 100)]


def findings(folder: Path, events: list[dict[str, Any]]) -> list[Finding]:
    return diagnosed(grid.write(folder / "t.json", events))[RULE]


@pytest.mark.parametrize(
    ("outer", "where"),
    [("<module>", "resize in pipeline.py(130)"), ("main", "main in train.py(1)")],
)
def test_most_of_a_gap_in_the_outermost_frame_of_a_script(
    tmp_path: Path, outer: str, where: str
) -> None:
    frames = [
        row("python_function", f"train.py(1): {outer}", 5, 3700),
        row("python_function", "my/package/pipeline.py(130): resize", 500, 2200),
    ]
    (finding,) = findings(tmp_path, trace(*frames))
    assert finding.where == where
    assert ("(2.20 ms of that)" in finding.evidence) == (outer == "<module>")


def test_a_python_function_is_named(tmp_path: Path) -> None:
    """By the innermost frame that holds most of the gap: not by its caller, nor by a part of it."""
    frames = [
        row("python_function", "my/package/base.py(7): run_single", 20, 3400),
        row("python_function", FRAME, 300, 3000),
        row("python_function", "my/package/pipeline.py(130): resize", 500, 1400),
        row("python_function", "<built-in method stack of type object>", 320, 2970),
    ]
    (finding,) = findings(tmp_path, trace(*frames))
    assert finding.where == "preprocess in pipeline.py(123)"
    assert finding.cost_us_per_step == finding.gain_bound_us_per_step == 3408 - 258
    assert "1 gap of 1 ms or more in 1 step, the longest 3.15 ms" in finding.evidence
    assert "of that)" not in finding.evidence, "next to all of it is in the function"
    assert "Compute once" in finding.fix
    assert "DataLoader" not in finding.fix, "nothing here loads or trains"


def test_a_function_that_holds_a_part_of_a_gap_has_its_own_time(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, trace(row("python_function", FRAME, 300, 2600)))
    assert finding.evidence.startswith("for 3.15 ms per step")
    assert (
        "was in preprocess in pipeline.py(123) (2.60 ms of that) and launched" in finding.evidence
    )


def test_a_gap_across_steps_is_one_of_all_and_in_each_its_part(tmp_path: Path) -> None:
    """Of the 3 ms, 2 lie in the next step."""
    events = trace(row("python_function", FRAME, 300, 3000))[1:]
    warm_up = burst(-790, 50)
    steps = [(3, -800, 800), (4, 0, 1400), (5, 1400, 2400)]
    notes = [row("user_annotation", f"ProfilerStep#{n}", at, length) for n, at, length in steps]
    analysis = load(grid.write(tmp_path / "t.json", [*notes, *warm_up, *events]))
    costs = {}
    for chosen in (None, "4", "5"):
        context = Context(select(analysis, [chosen] if chosen else None), RULES)
        (found,) = [one.finding for one in cost_findings(context) if one.finding.rule == RULE]
        assert found.count == len(found.examples) == 1
        costs[chosen] = found.cost_us_per_step
    assert costs == {None: (3408 - 258) / 2, "4": 1400 - 258, "5": 3408 - 1400}


def test_where_a_model_trains_inputs_can_be_prepared_by_workers(tmp_path: Path) -> None:
    loads = row("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter", 2, 10)
    (finding,) = findings(tmp_path, trace(row("python_function", FRAME, 300, 3000), loads))
    assert "DataLoader workers" in finding.fix
    assert finding.confidence == "high"


@pytest.mark.parametrize(
    ("category", "name", "where"),
    [
        ("cpu_op", "aten::cumsum", "aten::cumsum"),
        ("user_annotation", "## metrics ##", "## metrics ##"),
        ("python_function", "nn.Module: Tokenizer_0", "Tokenizer_0"),
        ("cuda_runtime", "cudaEventRecord", "not named in the trace"),
    ],
)
def test_what_else_names_it(tmp_path: Path, category: str, name: str, where: str) -> None:
    (finding,) = findings(tmp_path, trace(row(category, name, 300, 3000)))
    assert finding.where == where
    expected = {"cpu_op": "medium", "cuda_runtime": "low"}.get(category, "high")
    assert finding.confidence == expected
    assert any("held the operator up" in text for text in finding.caveats) == (category == "cpu_op")


@pytest.mark.parametrize(
    ("category", "name", "says"),
    [
        ("cpu_op", "aten::_foreach_add_", "fused=True"),
        ("user_annotation", "Optimizer.step#SGD.step", "fused=True"),
        ("python_function", "torch/optim/optimizer.py(512): wrapper", "fused=True"),
        ("cpu_op", "aten::unflatten_dense_tensors", "broadcast_buffers=False"),
        ("cpu_op", "DistributedDataParallel.forward", "broadcast_buffers=False"),
        ("python_function", f"/cache/c{'ov' * 25}3.py(2533): call", "reduce-overhead"),
        ("user_annotation", "## Call CompiledFxGraph fbvn2lni5m ##", "reduce-overhead"),
        ("cpu_op", "aten::split_with_sizes", "fewer of them"),
        ("cpu_op", "aten::cumsum", "computes on the host"),
        ("cpu_op", "aten::normal_", "device= of torch.randn"),
        ("cuda_runtime", "cudaEventRecord", "with_stack=True"),
    ],
)
def test_the_fix_fits_the_name(tmp_path: Path, category: str, name: str, says: str) -> None:
    (finding,) = findings(tmp_path, trace(row(category, name, 300, 3000)))
    assert says in finding.fix
    assert "DataLoader" not in finding.fix


@pytest.mark.parametrize(
    ("function", "inside", "says"),
    [
        ("torch/optim/sgd.py(55): step", "## optimizer ##", "fused=True"),
        ("torch/optim/sgd.py(55): step", "aten::cumsum", "computes on the host"),
        ("train.py(55): step", "## optimizer ##", "Log, compute metrics"),
    ],
)
def test_the_fix_is_that_of_what_is_in_it_or_else_of_the_function(
    tmp_path: Path, function: str, inside: str, says: str
) -> None:
    kind = "user_annotation" if inside.startswith("#") else "cpu_op"
    around = row("python_function", function, 300, 3000)
    (finding,) = findings(tmp_path, trace(around, row(kind, inside, 800, 2300)))
    assert f", mostly {inside}" in finding.where
    assert f"; most of it in {inside} (2.30 ms)" in finding.evidence
    assert says in finding.fix


@pytest.mark.parametrize(("around", "own"), [("k_0", True), ("aten::mm", False), ("k", False)])
def test_all_of_it_before_a_user_defined_kernel_in_compiled_code(
    tmp_path: Path, around: str, own: bool
) -> None:
    graph = row("user_annotation", "## Call CompiledFxGraph fbvn2lni5m ##", 300, 3300)
    (finding,) = findings(tmp_path, trace(graph, row("cpu_op", around, 3390, 19)))
    said = "; all of it before k, a user-defined Triton kernel" in finding.evidence
    assert (said, "descriptors" in finding.fix) == (own, own)
    assert ("fewer, larger regions" in finding.fix) != own


@pytest.mark.parametrize(
    "call", ["cudaStreamBeginCapture", "hipStreamBeginCapture", "cudaEventRecord"]
)
def test_a_graph_that_is_recorded_in_the_gap_is_not_to_be_moved(tmp_path: Path, call: str) -> None:
    around = row("cpu_op", "CompiledFunction", 320, 3060)
    capture = row("cuda_runtime", call, 2000, 5)
    (finding,) = findings(tmp_path, trace(around, capture))
    records = call.endswith("Capture")
    assert ("Record graphs before the loop" in finding.fix) == records
    assert (finding.title == "Recording CUDA or HIP graphs keeps the device idle") == records
    assert ("most of it in CompiledFunction" in finding.evidence) == records
    assert finding.cost_us_per_step == 3408 - 258


def test_the_example_of_a_gap_from_the_start_of_a_step_is_as_long_as_the_gap(
    tmp_path: Path,
) -> None:
    early = [row("user_annotation", "ProfilerStep#4", 0, 3000), row("cpu_op", "aten::a", 5, 1990)]
    (finding,) = findings(tmp_path, [*early, *burst(2000, 1)])
    assert finding.examples_us == [pytest.approx(2008, abs=10)]
    assert finding.examples_event_id == [None]


@pytest.mark.parametrize("until", [2900, 1500])
def test_a_graph_that_is_recorded_in_no_operator(tmp_path: Path, until: int) -> None:
    """What is between the two calls is the recording."""
    begin = row("cuda_runtime", "hipStreamBeginCapture", 330, 5)
    end = row("cuda_runtime", "hipStreamEndCapture", until, 5)
    (finding,) = findings(tmp_path, trace(begin, row("python_function", FRAME, 320, 3060), end))
    assert ("Record graphs before the loop" in finding.fix) == (until == 2900)


@pytest.mark.parametrize("replays", [True, False])
def test_a_trace_of_the_recording_alone_does_not_show_that_it_recurs(
    tmp_path: Path, replays: bool
) -> None:
    events = [row("cpu_op", "aten::mm", 1, 300)]
    for start in range(0, 20_000, 4000):
        begin = row("cuda_runtime", "cudaStreamBeginCapture", start + 330, 5)
        end = row("cuda_runtime", "cudaStreamEndCapture", start + 3900, 5)
        events += [*burst(start + 10, 1 + start), begin, end]
    events += burst(20_010, 30_000)
    events += [row("cuda_runtime", "cudaGraphLaunch", 200, 5)] if replays else []
    (finding,) = findings(tmp_path, events)
    assert ("so it may happen once" in finding.evidence) != replays
    assert (finding.gain_us_per_step is None, "none is replayed" in finding.fix) == (
        not replays,
        not replays,
    )


@pytest.mark.parametrize("start", [700, 2600])
def test_a_graph_that_is_recorded_in_less_than_half_of_the_gap(tmp_path: Path, start: int) -> None:
    """Such a gap keeps the name of what holds most of it."""
    around = row("cpu_op", "CompiledFunction", start, 700)
    capture = row("cuda_runtime", "cudaStreamBeginCapture", start + 100, 5)
    (finding,) = findings(tmp_path, trace(around, capture))
    assert "Record graphs" not in finding.fix


def test_where_the_forward_of_a_model_is_in_it_the_operators_decide(tmp_path: Path) -> None:
    """The annotation of DistributedDataParallel holds the whole forward of what it wraps."""
    views = [row("cpu_op", "aten::split", 300 + 20 * i, 18) for i in range(150)]
    around = row("user_annotation", "DistributedDataParallel.forward", 10, 3380)
    (finding,) = findings(tmp_path, trace(around, *views))
    assert finding.where == "DistributedDataParallel.forward, mostly aten::split"
    assert "most of it in aten::split (2.70 ms); mostly before k" in finding.evidence
    assert "broadcast_buffers" not in finding.fix
    assert "fewer of them" in finding.fix


def test_a_loader_and_a_sync_have_rules_of_their_own(tmp_path: Path) -> None:
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert not findings(tmp_path, trace(row("user_annotation", loader, 240, 3200)))
    assert not findings(tmp_path, trace(row("cuda_runtime", "cudaDeviceSynchronize", 240, 3100)))


def test_short_pauses(tmp_path: Path) -> None:
    assert not findings(tmp_path, trace(row("python_function", FRAME, 250, 800), pause=800))


@pytest.mark.parametrize("marked", [True, False])
def test_a_long_launch_is_no_other_work(tmp_path: Path, marked: bool) -> None:
    """A graph of many kernels takes long to launch, in every step alike."""
    graph = [
        row("cuda_runtime", "cudaGraphLaunch", 132, 5, correlation=60),
        row("kernel", "k", 258, 20, correlation=60),
        row("cuda_runtime", "cudaGraphLaunch", 450, 2900, correlation=50),
        *(row("kernel", "k", 3340 + 20 * i, 20, correlation=50) for i in range(3)),
    ]
    found = diagnosed(grid.write(tmp_path / "t.json", trace(*graph, marked=marked)))
    assert not found[RULE]
    (finding,) = found["graph-pause"]
    assert finding.cost_us_per_step == 3340 - 278


def test_a_trace_without_steps_may_be_setting_up(tmp_path: Path) -> None:
    """It is reported, and nothing is charged."""
    (finding,) = findings(tmp_path, trace(row("python_function", FRAME, 300, 3000), marked=False))
    assert (finding.severity, finding.confidence) == ("info", "low")
    assert (finding.cost_us_per_step, finding.gain_us_per_step) == (0, None)
    assert "most of it in preprocess in pipeline.py(123) (3.00 ms)" in finding.evidence
    assert "prof.step()" in finding.fix


@pytest.mark.parametrize(("count", "severity"), [(4, "high"), (3, "info")])
def test_in_each_quarter_of_a_trace_without_steps_it_recurs(
    tmp_path: Path, count: int, severity: str
) -> None:
    """Each pause of 2 ms follows a burst; where one is of another name, none is charged."""
    events = burst(0, 1)
    for number in range(4):
        start = 2500 * number + 300
        name = FRAME if number < count else "my/package/model.py(1): load"
        events.append(row("python_function", name, start, 2000))
        events += burst(start + 2200, 100 * (number + 1))
    (finding,) = findings(tmp_path, events)
    assert finding.severity == severity
    assert (finding.cost_us_per_step == 4 * (2508 - 248)) == (count == 4)
    assert any("marks no steps" in text for text in finding.caveats) == (count == 4)


def test_short_pauses_of_a_trace_without_steps(tmp_path: Path) -> None:
    short = trace(row("python_function", FRAME, 250, 800), pause=800, marked=False)
    assert not findings(tmp_path, short)


def test_a_snippet_of_few_kernels(tmp_path: Path) -> None:
    events = trace(row("python_function", FRAME, 300, 3000))
    few = [e for e in events if e["args"].get("correlation", 1) in (1, 100)]
    (finding,) = findings(tmp_path, few)
    assert (finding.confidence, finding.cost_us_per_step) == ("low", 3408 - 38)
    assert any("no training step" in caveat for caveat in finding.caveats)
    (usual,) = findings(tmp_path, events)
    assert not any("no training step" in caveat for caveat in usual.caveats)


def test_a_snippet_without_steps(tmp_path: Path) -> None:
    """Nothing of a few kernels in no step: all of it is set-up."""
    few = [e for e in trace(marked=False) if e["args"].get("correlation", 1) in (1, 100)]
    assert not findings(tmp_path, few)


def test_work_before_the_first_launch_has_a_caveat(tmp_path: Path) -> None:
    events = [
        row("user_annotation", "ProfilerStep#4", 0, 4000),
        row("python_function", FRAME, 0, 3000),
        *burst(3010, 1),
    ]
    (finding,) = findings(tmp_path, events)
    assert finding.where == "preprocess in pipeline.py(123)"
    assert "before its first event" in finding.caveats[0]
    assert not any("first event" in c for f in findings(tmp_path, trace()) for c in f.caveats)


def test_preprocessing_of_a_video() -> None:
    first = Diagnosed(loaded("tracelens_mi300_timesformer"))[RULE][0]
    assert first.where == "preprocess in video_classification.py(129)"
    assert first.cost_us_per_step == pytest.approx(268_175.4, abs=0.1)
    assert first.gain_bound_us_per_step == first.cost_us_per_step


def test_several_names_none_of_which_holds_most(tmp_path: Path) -> None:
    """As gradients that are accumulated by the backward thread, and then the optimizer's step."""
    rows = [
        row("cpu_op", "torch::autograd::AccumulateGrad", 300, 1500),
        row("user_annotation", "Optimizer.step#SGD.step", 1900, 1300),
    ]
    (finding,) = findings(tmp_path, trace(*rows))
    assert finding.where == "several operators, mostly torch::autograd::AccumulateGrad"
    named = "torch::autograd::AccumulateGrad (1.50 ms), Optimizer.step#SGD.step (1.30 ms)"
    assert f"most of it in {named}" in finding.evidence
    assert finding.fix.startswith("Record with with_stack=True")


def stalls(lengths: list[int], *, long: bool = True, first: bool = False) -> list[dict[str, Any]]:
    """Operators in each of which the host launches nothing for a time, each after a burst.

    Of each name there are five more that take 10 us, and one before unless it is the first. The
    step is 200 ms.
    """
    events = [row("user_annotation", "ProfilerStep#4", 0, 200_000), *burst(0, 1)]
    start = 300
    for number, length in enumerate(lengths):
        name = f"aten::op{number}"
        others = 10 if long else length
        events += [row("cpu_op", name, 50_000 + 4000 * i, others) for i in range(5)]
        events += [] if first else [row("cpu_op", name, start - 20, 10)]
        events += [row("cpu_op", name, start, length), *burst(start + length, 100 * (number + 1))]
        start += length + 300
    return events


def test_stalls_each_in_another_operator(tmp_path: Path) -> None:
    """Each is 1% to 2% of the step."""
    (finding,) = findings(tmp_path, stalls([3000, 3100, 3200]))
    assert finding.title == "Something holds up the thread that launches"
    assert finding.where == "several names"
    assert "compete for the cores" in finding.fix
    assert finding.confidence == "medium"
    assert finding.count == 3
    named = "aten::op2 (3.20 ms), aten::op1 (3.10 ms), aten::op0 (3.00 ms)"
    assert f"most of it in {named}; 9.30 ms of it in operators that took over 10 times" in (
        finding.evidence
    )


def test_the_first_call_of_an_operator_is_no_stall(tmp_path: Path) -> None:
    """A library may start in it."""
    (finding,) = findings(tmp_path, stalls([3000, 3100, 3200], first=True))
    assert finding.title == "Host work keeps the device idle"
    assert "compete for the cores" not in finding.fix


def test_long_work_each_in_another_operator(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, stalls([3000, 3100, 3200], long=False))
    assert finding.title == "Host work keeps the device idle"
    assert "Move it away from launches" in finding.fix
    assert "10 times" not in finding.evidence


def test_one_stall_of_less_than_a_fiftieth(tmp_path: Path) -> None:
    assert not findings(tmp_path, stalls([3000]))


@pytest.mark.parametrize("chosen", [None, "4", "5"])
def test_stalls_in_other_names_in_each_step_are_one_cause(
    tmp_path: Path, chosen: str | None
) -> None:
    """Each is 5% of its step. What the optimizer of both does is named."""
    optimizer, events = "Optimizer.step#Adam.step", []
    for number in (3, 4, 5):
        at = 60_000 * (number - 3)
        events += [row("user_annotation", f"ProfilerStep#{number}", at, 60_000), *burst(at, at + 1)]
        for place, name in enumerate((f"aten::a{number}", f"aten::b{number}", optimizer)):
            kind, start = "cpu_op" if place < 2 else "user_annotation", at + 300 + 3500 * place
            events += [row(kind, name, start, 3000)]
            events += burst(start + 3001, at + 100 * (place + 1))
    analysis = load(grid.write(tmp_path / "t.json", events))
    context = Context(select(analysis, [chosen] if chosen else None), RULES)
    found = [one.finding for one in cost_findings(context) if one.finding.rule == RULE]
    assert [each.where for each in found] == [optimizer, "several names"]
