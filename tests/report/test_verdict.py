"""What decides the length of a step, by hand. One character is 100 us."""

from __future__ import annotations

from pathlib import Path

import grid
import msgspec
import pytest
from report.verdicts import DATA, DEVICE, NO_DEVICE, PACE, made, report
from rules.eager import ADD, operators, row
from simulation import drawn

from tb_hookview import markers
from tb_hookview.document.markdown import bounded
from tb_hookview.loading import load
from tb_hookview.report.build import build_report

HOST = """
    main notes [ProfilerStep#1                         ]
    main calls           [launch corr=1]  [launch corr=2]
    gpu kernel            [k corr=1]       [k corr=2]
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
    data = found.data_us or 0  # null without operators
    figures = [found.host_us, data, found.device_us, found.communication_us]
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
