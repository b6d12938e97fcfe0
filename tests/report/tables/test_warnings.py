"""What a report says against its trace: in words, with a severity, the severe first."""

from __future__ import annotations

import re
import string
from pathlib import Path

import grid
import pytest
from support.faults import NAMES
from support.loaded import reported

from tb_hookview.analysis.consistency.checks import Fault
from tb_hookview.formats import format_share
from tb_hookview.loading import load
from tb_hookview.markers import encode
from tb_hookview.report.build import build_report
from tb_hookview.report.tables.warnings import CONTRADICTION, FAILED, HIGH_NOTICES, NEVER, WORDS
from tb_hookview.schema import TraceWarning
from tb_hookview.trace.source.inflate import MESSAGES


def warnings(folder: Path, picture: str) -> list[TraceWarning]:
    path = grid.write(folder / "t.json", grid.events(picture, NAMES))
    found = build_report(load(path)).data.trace.warnings
    return [row for row in found if row.code != "no-forward"]  # these pictures have no modules


def test_a_severe_one_comes_first_and_says_how_much(tmp_path: Path) -> None:
    picture = """
        main ops    [aten::mm ext=1                 ]
        main calls              [launch corr=1 ext=2] [launch corr=2]
        main ops                                  [aten::relu ext=2   ]
        gpu  kernel [k corr=1  ]                            [k corr=2            ]
        """
    low, high = sorted(warnings(tmp_path, picture), key=lambda row: row.severity, reverse=True)
    assert (low.code, low.count, low.severity) == ("external-id", 1, "low")
    assert (high.code, high.count, high.severity) == ("before-launch", 1, "high")
    assert "begin up to 12.0 us before" in high.message
    assert warnings(tmp_path, picture) == [high, low]


@pytest.mark.parametrize(("share", "severity"), [(0.09, "low"), (0.1, "high"), (1.0, "high")])
def test_unknown_launches_are_severe_from_a_tenth_of_device_time(
    tmp_path: Path, share: float, severity: str
) -> None:
    unknown = round(1000 * share)
    path = tmp_path / "t.json"
    rows = [("k", 0, unknown, 9), ("k", unknown, 1000 - unknown, 1)]
    launch = grid.events("main calls [launch corr=1]", NAMES)
    kernels = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1100 + start}
        | {"dur": length, "args": {"correlation": correlation, "device": 0}}
        for name, start, length, correlation in rows
        if length
    ]
    found = build_report(load(grid.write(path, launch + kernels))).data.trace.warnings
    (row,) = [warning for warning in found if warning.code == "no-launch"]
    assert row.severity == severity
    assert f"{format_share(share, 1)} of device time" in row.message


@pytest.mark.parametrize(("lost", "severity"), [(1, "low"), (2, "high")])
def test_unknown_launches_of_a_step_that_is_not_measured_are_not_severe(
    tmp_path: Path, lost: int, severity: str
) -> None:
    """The device is behind: what it does in the first step was launched before the recording."""
    picture = f"""
        main notes [ProfilerStep#1    ] [ProfilerStep#2    ]
        main calls  [launch corr=2]      [launch corr=4]
        gpu  kernel [k corr=1] [k corr=2] [k corr={3 if lost == 2 else 4}] [k corr=4]
        """
    (row,) = [row for row in warnings(tmp_path, picture) if row.code == "no-launch"]
    assert (row.count, row.severity) == (lost, severity)


def test_every_word_has_the_numbers_it_asks_for() -> None:
    for code, words in WORDS.items():
        asked = {name for _, name, _, _ in string.Formatter().parse(words.message) if name}
        assert asked <= set(Fault.__struct_fields__), code


def test_severe_notices_are_notices() -> None:
    assert HIGH_NOTICES - {"no-timestamp", "negative-duration", "old-device", "begin-end"} <= set(
        MESSAGES
    )


def test_every_code_and_its_severity_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "explanation" / "reliability.md").read_text()
    section = text.partition("## Whether a trace can be believed")[2].partition("\n## ")[0]
    rows = [row.split(" | ") for row in section.splitlines() if row.startswith("| `")]
    severity = {code: row[2] for row in rows for code in re.findall(r"`([\w-]+)`", row[0])}
    assert set(severity) == {*WORDS, *HIGH_NOTICES, "empty", FAILED, CONTRADICTION}
    for code, words in WORDS.items():
        share = words.high_from
        expected = "high" if share == 0 else "low" if share == NEVER else f"high from {share:.0%}"
        assert severity[code].replace(" %", "%").startswith(expected), code
    assert {severity[code] for code in HIGH_NOTICES} == {"high"}


@pytest.mark.parametrize(
    ("picture", "codes"),
    [
        pytest.param("main ops [mm][relu]", ["no-forward-host"], id="inference"),
        pytest.param("main ops [net     ]", [], id="a module's call"),
        pytest.param(
            """
            main ops [mm seq=1]
            main ops           [mm' seq=1 F=1]
            """,
            [],
            id="a node's forward operator",
        ),
    ],
)
def test_a_forward_that_is_nowhere_is_named_without_a_device_too(
    tmp_path: Path, picture: str, codes: list[str]
) -> None:
    names = {
        "net": encode("forward", "net", "Linear"),
        "mm'": "autograd::engine::evaluate_function: MmBackward0",
    }
    path = grid.write(tmp_path / "t.json", grid.events(picture, names))
    data = build_report(load(path)).data
    assert [row.code for row in data.trace.warnings] == codes
    assert (data.steps[0].forward_us is None) == bool(codes)


@pytest.mark.parametrize(("name", "found"), [("Optimizer.step#SGD.step", 1), ("aten::add_", 0)])
def test_an_optimizer_that_steps_in_a_hook_of_a_gradient(
    tmp_path: Path, name: str, found: int
) -> None:
    picture = """
        main ops   [mm seq=1]
        main ops              [node seq=1 F=1     ]
        main notes              [step           ]
        """
    sink = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    path = grid.write(tmp_path / "t.json", grid.events(picture, {"node": sink, "step": name}))
    warnings = build_report(load(path)).data.trace.warnings
    rows = [row for row in warnings if row.code == "optimizer-in-backward"]
    assert [(row.count, row.severity) for row in rows] == [(1, "low")] * found
    assert all("hooks of gradients, 17.0 us in all" in row.message for row in rows)


UNNAMED = """
    main ops    [aten::mm                                     ]
    main calls    [launch corr=1][launch corr=2][launch corr=3]
    gpu  kernel                   [mine corr=1 ] [yours corr=2] [gemm corr=3                     ]
    """


def test_kernels_that_nobody_can_name_are_named(tmp_path: Path) -> None:
    """The operator's name is taken where it says more; here there is none around two of three."""
    picture = UNNAMED.replace("aten::mm ", "my::op   ")
    (row,) = [row for row in warnings(tmp_path, picture) if row.code == "unnamed-kernels"]
    assert (row.count, row.severity) == (2, "low")
    assert "45.2% of device time, most of it in mine, yours: they are `other`" in row.message
    assert "unnamed-kernels" not in {row.code for row in warnings(tmp_path, UNNAMED)}


@pytest.mark.parametrize(
    ("name", "share", "names"),
    [
        ("hta_a100_event_sync.", "70.6%", "at::cuda::spin_kernel:"),
        ("hta_mtia_inference", "94.4%", "event_wait, merge, pe_exe:"),
        ("deepseek_h800", None, ""),
    ],
)
def test_unnamed_kernels_of_real_traces(name: str, share: str | None, names: str) -> None:
    rows = reported(name).data.trace.warnings
    found = [row.message for row in rows if row.code == "unnamed-kernels"]
    assert len(found) == (share is not None)
    assert all(f"{share} of device time, most of it in {names}" in text for text in found)
