"""What recording cost the host is taken off, by hand. One character is 100 us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from simulation import drawn

from tb_hookview import markers
from tb_hookview.analysis.selection import Selection
from tb_hookview.formats import format_us
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.verdict import find_verdict
from tb_hookview.simulation import recording_cost
from tb_hookview.simulation.alone import Alone
from tb_hookview.simulation.changes import Change, HostChange, HostCost
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.replay import Quiet
from tb_hookview.simulation.simulator import Simulator

STEP = """
    main notes [ProfilerStep#1                               ]
    main ops   [mm  ]     [mm  ]
    main calls [launch corr=1 ]                [launch corr=2]
    gpu kernel          [k corr=1][k corr=2 ]
"""
HOST = """
    main notes [ProfilerStep#1                                        ]
    main ops   [mm                                     ]
    main calls                                          [launch corr=1]
    gpu kernel                                                         [k corr=1]
"""
"""4,100 us of the host, then a launch of 1,500; the kernel takes 1,000."""


def cost(simulator: Simulator, *amounts: tuple[int, float]) -> Change:
    """Nanoseconds off the first thread at some microseconds after the first event."""
    moment = np.array([simulator.window.start + at * 1000 for at, _ in amounts])
    total = np.append(0.0, np.cumsum([ns for _, ns in amounts]))
    return Change(less=(HostCost(moment, total, Quiet(0, np.zeros((0, 2), np.int64))),))


def nanoseconds(picture: str, **args: Any) -> list[dict[str, Any]]:
    """Events of a picture, of which operators end between two microseconds."""
    listed = drawn.events(picture)
    for event in listed:
        if event["cat"] == "cpu_op":
            event["dur"] -= 0.5
            event["args"] |= args
    return listed


def recorded(folder: Path, picture: str, **args: Any) -> Simulator:
    path = grid.write(folder / "t.json", nanoseconds(picture, **args))
    return Simulator(Selection(load(path), None))


def step_us(simulator: Simulator, change: Change) -> float:
    return simulator.step(change) / 1000


def test_host_time_is_shorter_by_the_costs_that_begin_in_it(tmp_path: Path) -> None:
    simulator = drawn.simulator(tmp_path, HOST)
    whole = step_us(simulator, Change())
    assert step_us(simulator, cost(simulator, (100, 70_000), (200, 30_000))) == pytest.approx(
        whole - 100
    )
    before_the_trace = cost(simulator, (-5_000, 70_000))
    assert step_us(simulator, before_the_trace) == whole


def test_no_host_time_is_negative(tmp_path: Path) -> None:
    simulator = drawn.simulator(tmp_path, HOST)
    lengths = simulator.lengths(cost(simulator, (100, 1e12)))
    assert lengths.lag[simulator.graph.edges.lag >= 0].min() == 0
    assert step_us(simulator, cost(simulator, (100, 1e12))) > 1000  # launch and kernel are left


def test_a_factor_applies_to_what_is_left(tmp_path: Path) -> None:
    simulator = drawn.simulator(tmp_path, HOST)
    off = cost(simulator, (100, 1_000_000)).less
    halved = Change(less=off, host=(HostChange(-1, None, 0.5),))
    alone = step_us(simulator, Change(host=(HostChange(-1, None, 0.5),)))
    assert step_us(simulator, halved) == pytest.approx(alone - 500)


def test_each_operator_and_each_input_has_its_cost(tmp_path: Path) -> None:
    plain = recorded(tmp_path, HOST)
    shaped = recorded(tmp_path, HOST, **{"Input Dims": [[1], []], "Input type": ["float", "int"]})
    for simulator, ns in ((plain, 0.0), (shaped, 2 * recording_cost.INPUT)):
        assert simulator.unrecorded is not None
        off = simulator.unchanged.step - simulator.unrecorded.pace.step
        assert off == pytest.approx(recording_cost.OPERATOR + ns, abs=2)


def beside(
    name: str, category: str, us: float, count: int = 200, each: float = 1, **args: Any
) -> list[dict[str, Any]]:
    """The host's step with rows of one name in it, one in `each` us."""
    (mark,) = (row for row in drawn.events(HOST) if row["cat"] == "user_annotation")
    row = {**mark, "cat": category, "name": name, "dur": us, "args": mark["args"] | args}
    rows = [{**row, "ts": mark["ts"] + 50 + each * i} for i in range(count)]
    return nanoseconds(HOST) + rows


def taken_off(folder: Path, rows: list[dict[str, Any]], **root: Any) -> float:
    """Nanoseconds that a step is shorter without the cost of recording."""
    simulator = Simulator(Selection(load(grid.write(folder / "t.json", rows, **root)), None))
    assert simulator.unrecorded is not None
    return simulator.unchanged.step - simulator.unrecorded.pace.step


@pytest.mark.parametrize(("count", "us", "speed"), [(16, 0.56, 2), (15, 0.56, 1), (16, 28, 6)])
def test_rows_cost_by_how_long_the_cheapest_operators_took(
    tmp_path: Path, count: int, us: float, speed: float
) -> None:
    taken = taken_off(tmp_path, beside("aten::as_strided", "cpu_op", us, count))
    assert taken == pytest.approx(speed * (1 + count) * recording_cost.OPERATOR, abs=5)


def test_the_cheapest_operators_take_longer_where_shapes_are_recorded(tmp_path: Path) -> None:
    shapes = {"Input Dims": [[1]], "Input type": ["float"]}
    taken = taken_off(tmp_path, beside("aten::as_strided", "cpu_op", 0.7, 16, **shapes))
    rows = 17 * recording_cost.OPERATOR + 16 * recording_cost.INPUT
    assert taken == pytest.approx(2 * rows, abs=5)


@pytest.mark.parametrize(
    ("category", "ns"),
    [("python_function", recording_cost.PYTHON), ("cuda_runtime", recording_cost.CALL)],
)
def test_each_call_has_its_cost(tmp_path: Path, category: str, ns: float) -> None:
    taken = taken_off(tmp_path, beside("f", category, 0.5, each=5))
    assert taken == pytest.approx(recording_cost.OPERATOR + 200 * ns, abs=5)


@pytest.mark.parametrize(
    ("thread", "ns"),
    [("main", recording_cost.NODE_OF_CALLER), ("autograd", recording_cost.NODE)],
)
def test_a_node_costs_more_on_a_thread_of_the_backward(
    tmp_path: Path, thread: str, ns: float
) -> None:
    rows = nanoseconds(
        f"""
    main notes [ProfilerStep#1                                        ]
    main ops   [mm seq=1]
    {thread} ops          [eval seq=1 fwd=1    ]
    main calls                                                   [launch corr=1]
    gpu kernel                                                                  [k corr=1]
"""
    )
    taken = taken_off(tmp_path, rows)
    assert taken == pytest.approx(2 * recording_cost.OPERATOR + ns, abs=5)


def test_a_python_call_costs_no_more_than_there_is_time_for(tmp_path: Path) -> None:
    """Of the moments at which one begins or ends, half follow 50 ns after another."""
    taken = taken_off(tmp_path, beside("f", "python_function", 0.05))
    assert taken == pytest.approx(recording_cost.OPERATOR + 200 * 4 * 50, abs=5)


def test_a_call_costs_no_more_than_passes_until_the_next(tmp_path: Path) -> None:
    """A library's calls begin 0.25 us after one another."""
    rows = beside("cudaGetErrorString", "cuda_runtime", 0.1)
    first = rows[-200]["ts"]
    for number, row in enumerate(rows[-200:]):
        row["ts"] = first + 0.25 * number
    assert taken_off(tmp_path, rows) == pytest.approx(recording_cost.OPERATOR + 200 * 250, abs=5)


@pytest.mark.parametrize(
    ("name", "at", "us"),
    [
        ("Activity Buffer Request", 100, 2_000),
        ("Buffer Flush", 100, 0),  # on a thread of the driver's own
        ("Activity Buffer Request", -2_500, 0),  # around which the host did nothing
    ],
)
def test_the_host_waits_for_a_buffer_of_the_profiler_s(
    tmp_path: Path, name: str, at: int, us: int
) -> None:
    (mark,) = (row for row in drawn.events(HOST) if row["cat"] == "user_annotation")
    overhead = {"ph": "X", "cat": "overhead", "name": name, "pid": -1, "tid": 0, "dur": 2_000}
    taken = taken_off(tmp_path, [*nanoseconds(HOST), {**overhead, "ts": mark["ts"] + at}])
    assert taken == pytest.approx(recording_cost.OPERATOR + 1000 * us, abs=5)


@pytest.mark.parametrize(
    ("kind", "ns"),
    [("forward", 10_400), ("before backward", 0), ("gradient weight", recording_cost.OPERATOR)],
)
def test_a_mark_costs_what_the_recorder_measured(tmp_path: Path, kind: str, ns: float) -> None:
    """What it did not measure costs as much as an operator."""
    manifest = {"version": 1, "cost_us": {"forward": 10.4, "backward": 0.0}, "modules": []}
    rows = beside(f"head (Linear) {kind} ~hv1", "cpu_op", 0.5, 10)
    for number, row in enumerate(rows[-10:]):
        row["ts"] += 20 * number
    taken = taken_off(tmp_path, rows, **{markers.MANIFEST_KEY: manifest})
    assert taken == pytest.approx(recording_cost.OPERATOR + 10 * ns, abs=5)


@pytest.mark.parametrize("picture", [HOST, HOST.replace("main ops   [mm ", "main notes [mm ")])
def test_the_cost_is_unknown_without_operators_or_in_whole_microseconds(
    tmp_path: Path, picture: str
) -> None:
    simulator = drawn.simulator(tmp_path, picture)
    assert simulator.unrecorded is None
    verdict = build_report(simulator.analysis).verdict
    assert (verdict.unrecorded_step_us, verdict.unrecorded_sentence) == (None, None)


def test_less_work_of_a_device_gains_more_where_the_host_was_slowed(tmp_path: Path) -> None:
    simulator = recorded(tmp_path, STEP)
    base = simulator.unrecorded
    assert base is not None
    halved = scaled(simulator.analysis, {"kernels": 0.5})
    assert simulator.gain(halved) <= simulator.gain(halved, base) + 1000
    assert base.pace.step < simulator.unchanged.step


@pytest.mark.parametrize(
    ("unrecorded", "device", "off"),
    [
        pytest.param([0.99, 1.2], "cuda", 0.01, id="recording cost less"),
        pytest.param([1.0, 1.2], "cuda", 0.0, id="recording cost nothing"),
        pytest.param([0.5, 0.98], "cpu", 0.02, id="recording cost more"),
        pytest.param([0.5, 0.8], "cuda", None, id="a host that may run ahead"),
        pytest.param([1.0], "cpu", None, id="one step"),
    ],
)
def test_the_estimate_contradicts_no_timed_steps(
    tmp_path: Path, unrecorded: list[float], device: str, off: float | None
) -> None:
    rows = beside("f", "python_function", 0.5)
    simulator = Simulator(Selection(load(grid.write(tmp_path / "t.json", rows)), None))
    step = simulator.unchanged.step
    steps = {"recorded_us": [1e4], "unrecorded_us": [share * step / 1000 for share in unrecorded]}
    manifest = {"version": 1, "device": {"parameters": [device]}, "steps": steps}
    taken = taken_off(tmp_path, rows, **{markers.MANIFEST_KEY: manifest})
    expected = taken_off(tmp_path, rows) if off is None else off * step
    assert taken == pytest.approx(expected, rel=1e-3, abs=5)


def test_where_nothing_is_recorded_recording_costs_nothing(tmp_path: Path) -> None:
    """Of steps that were far quicker, a sleep of 3 ms after the last row is left as it is."""
    rows = beside("f", "python_function", 0.5, 400)
    plain = Simulator(Selection(load(grid.write(tmp_path / "t.json", rows)), None))
    steps = {"recorded_us": [1e4], "unrecorded_us": [100.0, 200.0]}
    manifest = {"version": 1, "device": {"parameters": ["cpu"]}, "steps": steps}
    path = grid.write(tmp_path / "timed.json", rows, **{markers.MANIFEST_KEY: manifest})
    simulator = Simulator(Selection(load(path), None))
    base, once = simulator.unrecorded, plain.unrecorded
    assert base is not None
    assert once is not None
    whole, off = plain.unchanged.step, plain.unchanged.step - once.pace.step
    assert off < whole - base.pace.step <= recording_cost.MOST * off + 5
    slept = np.array([[0, 3_000_000]]) + simulator.window.start + 500_000
    change = Change(host=(HostChange(-1, slept),))
    assert simulator.gain(change, base) == pytest.approx(3_000_000, abs=5)
    sentence = build_report(simulator.analysis).verdict.unrecorded_sentence or ""
    assert sentence.endswith("Steps without it took at most 200 us: they did less, or waited less.")


def test_a_replay_that_is_off_is_called_one(tmp_path: Path) -> None:
    """The estimate is so much less than the replay, which is named where it is another length."""
    analysis = load(grid.write(tmp_path / "t.json", beside("f", "python_function", 0.5, 4000)))
    simulator = Simulator(Selection(analysis, None))
    exact, off = find_verdict(Alone(simulator), None), Simulator(Selection(analysis, None))
    pace = simulator.recorded._replace(step=simulator.recorded.step - 1_000_000)
    off.__dict__["recorded"] = pace
    replayed = f" than in a replay with it ({format_us(simulator.unchanged.step / 1000)})."
    for verdict, said in (
        (exact, " ms per step, 32% less."),
        (find_verdict(Alone(off), None), f"% less{replayed}"),
    ):
        assert (verdict.unrecorded_sentence or "").endswith(said)


@pytest.mark.parametrize(("queued_us", "ahead"), [(900, False), (1100, True)])
def test_a_host_that_was_ahead_did_not_decide(
    queued_us: float, ahead: bool, tmp_path: Path
) -> None:
    """What it had queued takes longer than the 1,000 us that the device takes for a step."""
    rows = beside("f", "python_function", 0.5, 4000)
    (kernel,) = (row for row in rows if row["cat"] == "kernel")
    queued = {**kernel, "ts": kernel["ts"] - 3000, "dur": queued_us}
    queued["args"] = {**kernel["args"], "correlation": 0}
    analysis = load(grid.write(tmp_path / "t.json", [*rows, queued]))
    verdict = find_verdict(Alone(Simulator(Selection(analysis, None))), None)
    assert verdict.bound == "host"
    said = "Work for 1.10 ms was queued as the recording began"
    assert (said in (verdict.unrecorded_sentence or "")) == ahead


@pytest.mark.parametrize(
    ("us", "bound", "said"),
    [
        (900, "host", "32% less."),
        (2000, "host", "27% less; collectives as recorded, waits for other ranks included."),
        (5000, "unknown", "20% less, bottleneck unknown; collectives as recorded, waits for "),
    ],
)
def test_collectives_of_one_rank_are_as_recorded_and_decide_nothing_else(
    us: int, bound: str, said: str, tmp_path: Path
) -> None:
    """What the others wait for, recording may have slowed down too."""
    rows = beside("f", "python_function", 0.5, 4000)
    (kernel,) = (row for row in rows if row["cat"] == "kernel")
    kernel |= {"name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "dur": us}
    verdict = build_report(load(grid.write(tmp_path / "t.json", rows))).verdict
    assert (verdict.bound, verdict.unrecorded_bound) == ("host", bound)
    assert f", {said}" in (verdict.unrecorded_sentence or "")


def test_the_step_without_it_is_known_where_the_bottleneck_is_not(tmp_path: Path) -> None:
    """The second kernel is not in the trace."""
    simulator = recorded(tmp_path, STEP.replace("[k corr=2 ]", " " * 11))
    verdict = find_verdict(Alone(simulator), None)
    assert (verdict.bound, verdict.unrecorded_bound) == ("unknown", "unknown")
    assert simulator.unrecorded is not None
    assert verdict.unrecorded_step_us == simulator.unrecorded.pace.step / 1000
    assert verdict.unrecorded_sentence is None
