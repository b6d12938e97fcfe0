"""For every kind of edge a question that is answered wrongly where such edges are left out.

One character is 100 us. The answers are by hand; latencies are 0 in these pictures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from msgspec.structs import replace
from rules.eager import operators
from simulation import drawn

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.alone import Alone
from tb_hookview.simulation.changes import Change, Changer, DeviceChange
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.replay import NEVER, Lengths, Replayer
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.simulation.whatif import path_time

HOST = """
    main notes [ProfilerStep#1               ]
    main calls [launch corr=1]
    main ops                  [work          ]
    gpu kernel [k corr=1     ]
"""
LAUNCH = """
    main notes [ProfilerStep#1                            ]
    main ops   [work         ]
    main calls                [launch corr=1]
    gpu kernel                [k corr=1                           ]
"""
STREAM = """
    main notes [ProfilerStep#1                            ]
    main calls [launch corr=1][launch corr=2]
    gpu kernel [k corr=1                   ][k corr=2                     ]
"""
SYNC = """
    main notes [ProfilerStep#1                                    ]
    main calls [launch corr=1][wait                 ][launch corr=2]
    gpu kernel [k corr=1                           ] [k corr=2    ]
"""
HANDOVER = """
    main     notes [ProfilerStep#1                                                  ]
    main     ops   [forward]                                          [launches     ]
    main     calls                                                    [launch corr=2]
    autograd ops             [node                                   ]
    autograd calls           [launch corr=1][wait                    ]
    gpu      kernel          [k corr=1                              ] [k corr=2     ]
"""
WOKEN = """
    main     notes  [ProfilerStep#1                                   ]
    main     calls  [launch corr=1][wait         ]
    main     ops                                  [work             ]
    autograd ops                                       [node                  ]
    autograd calls                                     [launch corr=2]
    gpu      kernel [k corr=1                    ]     [k corr=2                                ]
"""
"""Main works on while a thread that it woke launches what the step ends with."""
AWAITED = """
    main     notes  [ProfilerStep#1                                                               ]
    main     ops    [forward]       [work    ]                                   [launches        ]
    main     calls                                                               [launch corr=2]
    autograd ops             [node                   ][node                     ]
    autograd calls                                    [launch corr=1][wait      ]
    gpu      kernel                                   [k corr=1                 ][k corr=2  ]
"""
"""The other thread was at work as main stopped; main goes on as it is done."""
OUTLASTING = """
    main  notes  [ProfilerStep#1                                                             ]
    main  calls  [launch corr=1]                                [launch corr=2]
    main  ops                   [work    ]
    other calls                      [wait                     ]
    gpu   kernel                [k corr=1                     ]  [k corr=2   ]
"""
"""Another thread fetches the result: its wait began before main stopped, which goes on after it."""
WITHOUT_OPERATORS = """
    main     calls  [launch corr=1][wait         ]                                      [order]
    autograd calls                                [launch corr=2][launch corr=3]
    autograd calls                                                               [order]
    gpu      kernel [k corr=1                    ][k corr=2     ][k corr=3     ]
"""
"""The thread that launches most begins and ends within the other: that is its backward pass."""
COLLECTIVE = """
    main     notes [ProfilerStep#1                                                      ]
    main     ops   [forward][c10d::allreduce_][work]                      [work        ]
    gloo     notes               [gloo:all_reduce                        ]
"""
"""Main calls the collective at 900 us, and has its result at 5,500 us."""
CROSS_CALLS = """
    main notes [ProfilerStep#1                                              ]
    main calls [launch corr=1]       [order ][launch corr=2]
    gpu kernel [k corr=1 stream=7                         ][k corr=2 stream=9]
"""
CROSS_TIMES = """
    main notes [ProfilerStep#1                                              ]
    main calls [launch corr=1]               [launch corr=2]
    gpu kernel [k corr=1 stream=7                           ][k corr=2 stream=9]
"""
ORIGIN = """
    main notes [ProfilerStep#1          ][ProfilerStep#2                                      ]
    main calls           [launch corr=1 ][launch corr=2][wait                                 ]
    gpu kernel                               [k corr=1][k corr=2                              ]
"""
"""The first kernel was launched before the window. It begins 400 us into it, and changes as the
others do."""

ENGINE = """
    main     notes [s0  ][s1                  ][s2                                               ]
    main     notes                             [loader        ]
    main     ops   [work][fwd   ]        [step]                [fwd   ]                     [step]
    autograd ops                 [eval  ]                              [eval]
    autograd calls                 [l]                                  [l]
    main     calls  [l]
    gpu      kernel  [k]             [k]                                  [k]
"""
"""After the second backward main does for 1,500 us what the trace does not show."""


def without(simulator: Simulator, question: dict[str, float], kind: EdgeKind) -> float:
    """Answer of a model that has no edges of a kind, microseconds."""
    graph = simulator.graph
    change = scaled(simulator.analysis, question)
    lengths = simulator.lengths(change)
    lag = lengths.lag.copy()
    lag[graph.edges.of(kind)] = NEVER
    replay = Replayer(graph)(Lengths(lengths.duration, lag, lengths.pause))
    return simulator.measure.pace(replay).step / 1000


NEEDED = [
    (EdgeKind.HOST, HOST, {"host": 0.5}, 1550),
    (EdgeKind.LAUNCH, LAUNCH, {}, 5200),
    (EdgeKind.STREAM, STREAM, {"host": 0.0}, 2900 + 3100),
    (EdgeKind.SYNC, SYNC, {"kernels": 0.5}, 1950 + 1400),
    (EdgeKind.HANDOVER, HANDOVER, {"kernels": 0.5}, 3100 + 1500),
    (EdgeKind.HANDOVER, WOKEN, {"kernels": 0.5}, 1500 + 500 + 2100),
    (EdgeKind.HANDOVER, AWAITED, {"kernels": 0.5}, 4900 + 1800),
    (EdgeKind.HANDOVER, OUTLASTING, {"kernels": 0.5}, 7700 - 1550),
    (EdgeKind.HANDOVER, WITHOUT_OPERATORS, {"kernels": 0.5}, 7500 - 1500),
    (EdgeKind.COLLECTIVE, COLLECTIVE, {"host": 0.5}, 450 + 4600 + 750),
    (EdgeKind.CROSS_STREAM, CROSS_CALLS, {"host": 0.0}, 4400 + 1900),
    (EdgeKind.ORIGIN, ORIGIN, {"kernels": 0.5}, 0.5 * (400 + 1000 + 4000)),
    (EdgeKind.CROSS_STREAM, CROSS_TIMES, {"host": 0.0}, 4600 + 1900),
]


@pytest.mark.parametrize(("kind", "picture", "question", "answer"), NEEDED)
def test_an_edge_is_needed(
    kind: EdgeKind, picture: str, question: dict[str, float], answer: float, tmp_path: Path
) -> None:
    simulator = drawn.simulator(tmp_path, picture)
    assert simulator.unchanged.step == simulator.recorded.step
    predicted = simulator.step(scaled(simulator.analysis, question)) / 1000
    assert predicted == answer
    assert without(simulator, question, kind) != answer


def test_every_kind_has_a_question() -> None:
    """Of `QUEUE` it is the one below."""
    assert {kind for kind, *_ in NEEDED} == set(EdgeKind) - {EdgeKind.QUEUE}


TURNS = """
    main notes [ProfilerStep#1                                              ]
    main calls [launch corr=1][launch corr=2][launch corr=3]
    gpu  kernel [k corr=1                 ]                   [k corr=3    ]
    gpu9 kernel                [k corr=2 stream=9          ]
"""
"""The first two kernels run for 1,200 us side by side, and the third begins after them."""


@pytest.mark.parametrize(
    ("blocks", "alone", "half"),
    [
        (4, 2700 + 2900 - 1200 + 1400, (2700 + 2900 - 1200 + 1400) / 2),
        (0.5, 2700 + 1400, (2700 + 1400) / 2),
    ],
)
def test_kernels_with_blocks_for_the_whole_device_take_turns(
    tmp_path: Path, blocks: float, alone: float, half: float
) -> None:
    """Those with fewer may run side by side, once the host is not what keeps them apart."""
    rows = drawn.events(TURNS)
    for row in rows:
        if row["cat"] == "kernel":
            row["args"]["blocks per SM"] = blocks
    path = grid.write(tmp_path / "t.json", rows)
    simulator = Simulator(Selection(load(path), None))
    assert simulator.unchanged.step == simulator.recorded.step
    assert Alone(simulator).each["device"] == 1000 * alone
    change = scaled(simulator.analysis, {"kernels": 0.5})
    assert Alone(simulator).step("device", change=change) == 1000 * half


KERNEL, CALL, SPACING, COUNT, LENGTH = 1000, 5, 10, 1000, 950
"""Microseconds of a kernel, of a launch, from launch to launch; launches; room in the queue."""


def queue_full(clock: int = 0) -> list[dict[str, Any]]:
    """A launch per 10 us and a kernel per 1,000 us: those from number `LENGTH` on have to wait.

    Args:
        clock: microseconds by which the device's clock is ahead.
    """
    events, now = [], 1000
    for number in range(COUNT):
        began = 1000 + (number - LENGTH) * KERNEL + 1
        returned = max(now + CALL, began if number >= LENGTH else 0)
        for kind, name, start, end in (
            ("cuda_runtime", "cudaLaunchKernel", now, returned),
            ("kernel", "k", clock + 1000 + number * KERNEL, clock + 1000 + (number + 1) * KERNEL),
        ):
            events.append(
                {
                    "ph": "X",
                    "cat": kind,
                    "name": name,
                    "pid": 0 if kind == "kernel" else 77,
                    "tid": 7 if kind == "kernel" else 1,
                    "ts": start,
                    "dur": end - start,
                    "args": {"correlation": number + 1},
                }
            )
        now = returned + SPACING - CALL
    return events


@pytest.mark.parametrize("clock", [0, 8, 60])
def test_a_full_queue_holds_the_host_back(clock: int, tmp_path: Path) -> None:
    """Kernels twice as quick let the host in twice as early, wherever the device's clock is."""
    path = grid.write(tmp_path / "t.json", queue_full(clock))
    simulator = Simulator(Selection(load(path), None))
    assert simulator.unchanged.step == pytest.approx(simulator.recorded.step, rel=1e-4)

    def last_launch(question: dict[str, float], *left_out: EdgeKind) -> float:
        lengths = simulator.lengths(scaled(simulator.analysis, question))
        lag = lengths.lag.copy()
        lag[simulator.graph.edges.of(*left_out)] = NEVER
        replay = Replayer(simulator.graph)(Lengths(lengths.duration, lag, lengths.pause))
        return float(replay.time[simulator.graph.step_end[-1]]) / 1000

    waited = (COUNT - 1 - LENGTH) * KERNEL
    assert last_launch({}) == pytest.approx(waited, rel=0.01)
    assert last_launch({"kernels": 0.5}) == pytest.approx(waited / 2, rel=0.01)
    assert last_launch({"kernels": 0.5}, EdgeKind.QUEUE) < SPACING * COUNT * 1.1


LATE = """
    main notes  [ProfilerStep#1                             ]
    main calls  [launch corr=1][launch corr=2][launch corr=3]
    gpu  kernel [k corr=1     ][k corr=2     ]         [nccl corr=3 stream=9    ]
"""
"""The collective is on a stream of its own, and 900 us late."""
LATE_COPY = """
    main notes  [ProfilerStep#1                             ]
    main ops                                  [c10d::allreduce_]
    main calls  [launch corr=1][launch corr=2][launch corr=3]
    gpu  copy   [H2D corr=1   ][H2D corr=2   ]         [H2D corr=3 stream=9     ]
"""


@pytest.mark.parametrize("work", ["copy", "nccl", "k"])
def test_what_is_late_is_unexplained_unless_it_is_a_copy_of_a_collective(
    work: str, tmp_path: Path
) -> None:
    """Other ranks decide when that begins; no bound of a prediction leaves that out."""
    picture = LATE_COPY if work == "copy" else LATE.replace("nccl", f"{work:4}")
    simulator = drawn.simulator(tmp_path, picture)
    path = path_time(simulator.unchanged)
    assert simulator.unchanged.step == simulator.recorded.step
    assert path.unexplained == (0 if work == "copy" else 900)
    assert path.communication == {"copy": 900 + 2600, "nccl": 2600, "k": 0}[work]
    shorter = (simulator.unchanged.step - simulator.unchanged.low) / 1000
    assert shorter == (0 if work == "copy" else 900)


EARLY = """
    main notes  [ProfilerStep#1                                       ]
    main calls  [launch corr=1]                        [launch corr=2 ]
    main ops                   [work                  ]
    gpu  kernel [nccl corr=1 stream=9]                 [nccl corr=2 stream=9]
"""


@pytest.mark.parametrize("lead", [0, 1, 60, 100, 250, 1500])
def test_an_event_on_a_clock_that_is_early_waits_for_its_launch(lead: int, tmp_path: Path) -> None:
    """It seems to begin before the call; the host's pause is the host's, and no wait for peers."""
    events = drawn.events(EARLY)
    (second,) = (e for e in events if e["cat"] == "kernel" and e["args"]["correlation"] == 2)
    second["ts"] -= lead
    path = grid.write(tmp_path / "t.json", events)
    simulator = Simulator(Selection(load(path), None))
    alone = Alone(simulator)
    assert not simulator.graph.pause.any()
    assert alone.device_side == 2 * 2200 * 1000
    assert alone.bound == "host"
    assert simulator.step(scaled(simulator.analysis, {"host": 0.0})) == alone.device_side


def engine(folder: Path, picture: str) -> Simulator:
    """Simulator of a picture in which each `l` launches the `k` of its place."""
    events = drawn.events(picture)
    for name in ("l", "k"):
        for number, event in enumerate(e for e in events if e["name"] == name):
            event["args"]["correlation"] = number
            event["name"] = {"l": "cudaLaunchKernel"}.get(name, name)
    return Simulator(Selection(load(grid.write(folder / "t.json", events)), None))


def test_the_engine_sleeps_until_main_calls_it(tmp_path: Path) -> None:
    """However little of the time until main goes on its work fills."""
    simulator = engine(tmp_path, ENGINE)
    edges = simulator.graph.edges
    assert edges.of(EdgeKind.HANDOVER).sum() == 4, "to the engine and back, twice"
    assert edges.lag[edges.of(EdgeKind.HOST)].max() < 2000 * 1000, "no sleep is work"
    step = simulator.step(scaled(simulator.analysis, {"data": 0.0})) / 1000
    assert step == (2200 + 5100 - 1600) / 2


LAST_BACKWARD = """
    main     notes [part ][{after}]
    main     ops   [fwd  ]
    main     calls [l]
    autograd ops           [eval           ] [eval              ]
    autograd calls                       [l]  [l]
    gpu      kernel [k ]                    [k] [k]
"""
"""Of a backward pass of 3,900 us main shows nothing more than its end, if that."""


@pytest.mark.parametrize("after", ["", "part" + " " * 34, "part" + " " * 38])
def test_the_engine_may_end_the_step(after: str, tmp_path: Path) -> None:
    """Main sleeps through it, whether the last moment is an annotation's end or the engine's."""
    simulator = engine(tmp_path, LAST_BACKWARD.replace("[{after}]", f"[{after}]" if after else ""))
    edges, nodes = simulator.graph.edges, simulator.graph.nodes
    assert edges.of(EdgeKind.HANDOVER).sum() == 2, "to the engine and back"
    assert not simulator.graph.pause[nodes.event < 0].any()
    assert edges.lag[edges.of(EdgeKind.HOST)].max() < 2700 * 1000, "no sleep is work"
    assert simulator.unchanged.step == simulator.recorded.step


TWO_BACKWARDS = """
    main     notes [s0                                         ]
    main     notes  [part                ]
    main     ops    [fwd]                                   [opt]
    autograd ops         [eval          ]  [eval          ]
    autograd calls          [l]                  [l]
    gpu      kernel          [k         ]         [k       ]
"""


def test_main_may_stop_where_it_goes_on(tmp_path: Path) -> None:
    """Between two backward passes it only ends an annotation."""
    simulator = engine(tmp_path, TWO_BACKWARDS)
    assert simulator.graph.edges.of(EdgeKind.HANDOVER).sum() == 4
    assert not simulator.graph.pause[simulator.graph.nodes.event < 0].any()


LAGGING = """
    main notes [s0      ][s1                       ][s2                       ]
    main calls   [launch corr=0]
    main calls           [wait           ]          [wait          ]
    main calls                             [launch corr=1]
    main calls                                                       [launch corr=2]
    gpu kernel    [k corr=0              ]  [k corr=1              ]  [k corr=2              ]
"""


@pytest.mark.parametrize(("factor", "answer"), [(1.0, 2700), (0.5, 2700 - 1200), (0.0, 1100)])
def test_what_the_device_lags_behind_at_first_is_as_quick_as_the_rest(
    factor: float, answer: float, tmp_path: Path
) -> None:
    """The host waits in each step for the kernel of the step before, in the first one as well."""
    simulator = drawn.simulator(tmp_path, LAGGING)
    found = simulator.step(scaled(simulator.analysis, {"kernels": factor})) / 1000
    assert found == pytest.approx(answer, rel=0.12)


PAUSING = """
    main notes [s0    ][s1                       ][s2                       ]
    main calls  [l][l]     [wait         ] [l][l]     [wait         ] [l][l]
    gpu kernel    [k         ]    [k     ]   [k         ]    [k     ]   [k         ]    [k     ]
"""
"""In each step the host waits for two kernels of the step before, with a pause between them."""


@pytest.mark.parametrize(("shorter", "gain"), [([0, 2, 4], 600), ([2, 4], 600), ([2], 300)])
def test_a_backlog_changes_as_what_the_window_leaves(
    shorter: list[int], gain: float, tmp_path: Path
) -> None:
    """No step saves more than the time that its kernels are shorter by."""
    events = drawn.events(PAUSING)
    for cat in ("cuda_runtime", "kernel"):
        some = (e for e in events if e["cat"] == cat and e["name"] in ("l", "k"))
        for number, event in enumerate(some):
            event["args"]["correlation"] = number
            event["name"] = {"l": "cudaLaunchKernel"}.get(event["name"], "k")
    simulator = Simulator(Selection(load(grid.write(tmp_path / "t.json", events)), None))
    change = Change(device=(DeviceChange(np.array(shorter), 0.5),))
    assert simulator.gain(change) / 1000 == gain


TWO_STREAMS = """
main notes [s0                  ][s1                       ][s2                       ]
main calls   [launch corr=0]
main calls                  [launch corr=8]
main calls                       [wait           ]          [wait          ]
main calls                                         [launch corr=1]
main calls                                                                   [launch corr=2]
gpu  kernel               [k corr=0              ]  [k corr=1              ]  [k corr=2            ]
gpu  kernel                   [k corr=8 stream=9        ]
"""
"""The host waits for one kernel of the backlog, and not for the one that ends later."""


def test_a_shorter_backlog_makes_no_step_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulator = drawn.simulator(tmp_path, TWO_STREAMS)
    steps, history = [], simulator.graph.nodes.history
    for share in (1.0, 0.75, 0.5, 0.25, 0.0):

        def shortened(_: Changer, lengths: Lengths, share: float = share) -> Lengths:
            left = np.where(history, share * lengths.duration, lengths.duration).astype(np.int64)
            return replace(lengths, duration=left)

        monkeypatch.setattr(Changer, "caught_up", shortened)
        steps.append(simulator.step(scaled(simulator.analysis, {"kernels": 0.7})))
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] < steps[0]


OVERLAPPED = """
    main notes  [ProfilerStep#1                                                       ]
    main calls  [launch corr=1][launch corr=2][launch corr=3]
    gpu  kernel [k corr=1               ]         [k corr=3                           ]
    gpu  kernel                      [k corr=2       ]
"""
"""Each kernel begins 400 us before the one before ends: programmatic dependent launches."""


@pytest.mark.parametrize("factor", [1.0, 0.5, 0.0])
def test_kernels_that_overlap_do_so_in_proportion(factor: float, tmp_path: Path) -> None:
    """Time on a stream never goes back, however short its kernels are."""
    simulator = drawn.simulator(tmp_path, OVERLAPPED)
    prediction = simulator.predict(scaled(simulator.analysis, {"kernels": factor, "host": 0.0}))
    path, window = prediction.path, simulator.window
    whole = simulator.analysis.device_events.end.max() - window.start
    assert prediction.step == pytest.approx(factor * whole, abs=1)
    assert (path.end - path.start).sum() == pytest.approx(prediction.step, abs=1)


SHORT_COPY = """
    main notes [s1                                                                      ]
    main calls [launch corr=1][copy corr=2][wait                       ][launch corr=3]
    gpu  kernel [k corr=1                                            ]  [k corr=3     ]
    gpu  copy                                                           [H2D corr=2]
"""


def test_what_a_sync_waited_for_may_seem_to_begin_after_it(tmp_path: Path) -> None:
    """Without the device the host waits for nothing, though the device's clock is ahead."""
    events = drawn.events(SHORT_COPY)
    for event in events:
        event["ts"] += 10 * (event["cat"] in ("kernel", "gpu_memcpy"))
    (copy,) = (e for e in events if e["name"] == drawn.NAMES["H2D"])
    (wait,) = (e for e in events if e["name"] == drawn.NAMES["wait"])
    copy["ts"], copy["dur"] = wait["ts"] + wait["dur"] + 1, 4
    simulator = Simulator(Selection(load(grid.write(tmp_path / "t.json", events)), None))
    predicted = simulator.step(scaled(simulator.analysis, {"kernels": 0})) / 1000
    assert predicted == simulator.recorded.step / 1000 - wait["dur"]


BACKLOG = """
    main notes [s0                       ][s1                                  ][s2                ]
    main ops                               [work               ]
    main calls  [launch corr=0][launch  ]  [waitall            ] [launch corr=1]  [launch corr=2]
    gpu kernel                 [k corr=0   ]                      [k corr=1   ]    [k corr=2  ]
    gpu kernel                              [k corr=8 stream=9]
"""


def test_what_was_launched_before_runs_on_the_path_too(tmp_path: Path) -> None:
    """The host waits for both kernels of the backlog, one after the other: no latency."""
    events = drawn.events(BACKLOG)
    (launch,) = (e for e in events if e["name"] == "cudaLaunchKernel" and not e["args"])
    launch["args"]["correlation"] = 8
    simulator = Simulator(Selection(load(grid.write(tmp_path / "t.json", events)), None))
    path = path_time(simulator.unchanged)
    assert (path.device, path.wait) == ((200 + 1900) / 2, 0)


def test_a_launch_that_loads_code_is_no_latency(tmp_path: Path) -> None:
    """It lasts 8 ms, and its kernel, on the only idle device, begins 8 us after it returned."""
    rows = operators([("aten::mm", "gemm")] * 3, start=9000, kernel=100)
    operator, call = rows[:2]
    operator["ts"], operator["dur"] = operator["ts"] - 8000, operator["dur"] + 8000
    call["ts"], call["dur"] = call["ts"] - 8000, call["dur"] + 8000
    for number, kernel in enumerate(each for each in rows if each["cat"] == "kernel"):
        kernel["ts"] = call["ts"] + call["dur"] + 8 + 100 * number
    simulator = Simulator(Selection(load(grid.write(tmp_path / "t.json", rows)), None))
    assert simulator.unchanged.step == simulator.recorded.step


def test_nor_is_one_whose_kernel_begins_before_it_returns(tmp_path: Path) -> None:
    """The second of three lasts 8 ms. Before the first the device may have been busy."""
    rows = operators([("aten::mm", "gemm")] * 3, start=9000, kernel=9)
    operator, call, kernel, *after = rows[3:]
    operator["dur"], call["dur"] = operator["dur"] + 8000, call["dur"] + 8000
    kernel["ts"] = call["ts"] + call["dur"] - 2
    for each in after:
        each["ts"] += 8000
    simulator = Simulator(Selection(load(grid.write(tmp_path / "t.json", rows)), None))
    assert simulator.unchanged.step == simulator.recorded.step


@pytest.mark.parametrize(("pairs", "lag"), [(9, 1200), (3, 0)])
def test_a_stream_whose_launches_take_long_to_begin_has_gaps(
    pairs: int, lag: int, tmp_path: Path
) -> None:
    """Every third pair begins after 40 us, the others after 60, as their second ones would alone.

    These were launched 50 us before the first ended: queued for the quickest, not for the usual.
    With three pairs only two were.
    """
    rows: list[dict[str, Any]] = []
    for pair in range(pairs):
        began = 40 if pair % 3 == 0 else 60
        ends = began + 5
        for launched, start in ((0, began), (15, max(ends + 1.2, 60))):
            number = {"correlation": len(rows) + 1}
            on_host = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7}
            on_device = {"cat": "kernel", "name": "k", "pid": 0, "tid": 9}
            for row, moment in ((on_host, launched), (on_device, start)):
                when = {"ph": "X", "ts": 1000 + 200 * pair + moment, "dur": 5, "args": number}
                rows.append(row | when)
    simulator = Simulator(Selection(load(grid.write(tmp_path / "t.json", rows)), None))
    edges = simulator.graph.edges
    assert set(edges.lag[edges.of(EdgeKind.STREAM)].tolist()) == {lag}
