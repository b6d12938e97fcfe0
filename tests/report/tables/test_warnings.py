"""What a report says against its trace: in words, with a severity, the severe first."""

from __future__ import annotations

import gzip
import json
import re
import string
from pathlib import Path

import gallery
import grid
import pytest
import shared_traces
from support.faults import NAMES

from tb_hookview.analysis.consistency.fault import Fault
from tb_hookview.formats import format_share
from tb_hookview.loading import load
from tb_hookview.markers import encode
from tb_hookview.report.build import build_report
from tb_hookview.report.tables.warnings import FAILED, HIGH_NOTICES, NEVER, WORDS, warning_rows
from tb_hookview.schema import TraceWarning
from tb_hookview.trace.source.damage import MESSAGES

HIGH = {
    "hta_a100_cuda_graphs_rank0": "13.2%",
    "hta_compare_base": "99.5%",
    "hta_compare_test": "99.8%",
    "hta_mtia_inference": "26.0%",
    "tracelens_h100_qwen": "30.1%",
    "tracelens_mi300_resnet_checkpointing": "31.8%",
}
"""Traces of which a tenth or more of device time has no launch; HTA's two are cut to a few rows."""

UNSEEN = (
    *("hta_backward_thread_tiny", "tracelens_mi300_sglang_decode"),
    *("tracelens_mi300_vllm_graph_execution", "tracelens_mi300_vllm_piecewise"),
)
"""Traces of which a tenth or more passes while a queue holds what is not in the file."""


DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "mtia_ccp_events")


def warnings(folder: Path, picture: str) -> list[TraceWarning]:
    path = grid.write(folder / "t.json", grid.events(picture, NAMES))
    found = build_report(load(path)).data.trace.warnings
    return [row for row in found if row.code != "no-forward"]  # these pictures have no modules


def test_a_severe_one_comes_first_and_says_how_much(tmp_path: Path) -> None:
    picture = """
        main ops    [aten::mm ext=1    ]
        main calls      [launch corr=1 ext=2] [launch corr=2]
        main ops                          [aten::relu ext=2   ]
        gpu  kernel [k corr=1  ]                    [k corr=2            ]
        """
    low, high = sorted(warnings(tmp_path, picture), key=lambda row: row.severity, reverse=True)
    assert (low.code, low.count, low.severity) == ("external-id", 1, "low")
    assert (high.code, high.count, high.severity) == ("before-launch", 1, "high")
    assert "by up to 4.00 us" in high.message
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


def test_every_word_has_the_numbers_it_asks_for() -> None:
    for code, words in WORDS.items():
        asked = {name for _, name, _, _ in string.Formatter().parse(words.message) if name}
        assert asked <= set(Fault.__struct_fields__), code


def test_severe_notices_are_notices() -> None:
    assert HIGH_NOTICES - {"no-timestamp", "negative-duration"} <= set(MESSAGES)


@pytest.mark.parametrize("path", gallery.all_traces(), ids=gallery.label)
def test_severe_ones_of_real_traces(path: Path) -> None:
    severe = [row for row in warning_rows(load(path)) if row.severity == "high"]
    if path.name.startswith("hta_a100_cupti_ranges"):
        assert [row.code for row in severe] == ["no-device-events"]
        return
    share = next((share for name, share in HIGH.items() if path.name.startswith(name)), None)
    unseen = ["unseen-queue"] if path.name.startswith(UNSEEN) else []
    assert [row.code for row in severe] == [*(["no-launch"] if share else []), *unseen]
    lost = [row for row in severe if row.code == "no-launch"]
    assert all(f", {share} of device time" in row.message for row in lost)


@pytest.mark.parametrize("name", HIGH)
def test_shares_without_a_launch_by_the_events_of_the_file(name: str) -> None:
    path = shared_traces.shared_trace(name)
    events = [e for e in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if e]
    rows = [event for event in events if event.get("ph") == "X"]
    calls = {
        row.get("args", {}).get("correlation")
        for row in rows
        if row.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime")
    }
    device = [row for row in rows if row.get("cat", "").lower() in DEVICE]
    lost = [row for row in device if row["args"].get("correlation") not in calls - {None}]
    share = sum(row["dur"] for row in lost) / sum(row["dur"] for row in device)
    assert format_share(share, 1) == HIGH[name]
    found = {row.code: row.count for row in warning_rows(load(path))}
    assert found["no-launch"] == len(lost)


def test_every_code_and_its_severity_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "reliability.md").read_text()
    section = text.partition("## Whether a trace can be believed")[2].partition("\n## ")[0]
    rows = [row.split(" | ") for row in section.splitlines() if row.startswith("| `")]
    severity = {code: row[2] for row in rows for code in re.findall(r"`([\w-]+)`", row[0])}
    assert set(severity) == {*WORDS, *HIGH_NOTICES, "empty", FAILED}
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
            auto ops           [mm' seq=1 F=1]
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


@pytest.mark.parametrize("path", gallery.all_traces(), ids=gallery.label)
def test_no_forward_is_unknown_without_a_reason(path: Path) -> None:
    """Of device time, the whole trace; of host time, each step."""
    data = build_report(load(path)).data
    unknown = any(step.forward_us is None for step in data.steps)
    reasons = {"no-host", "no-forward", "no-forward-host"} & {w.code for w in data.trace.warnings}
    assert bool(reasons) == unknown


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
    rows = warning_rows(load(shared_traces.shared_trace(name)))
    found = [row.message for row in rows if row.code == "unnamed-kernels"]
    assert len(found) == (share is not None)
    assert all(f"{share} of device time, most of it in {names}" in text for text in found)
