"""`small-grid-low-occupancy`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import findings, operators
from shared_traces import shared_trace

from tb_hookview.loading import analyze

RULE = "small-grid-low-occupancy"
POOL = "void at::native::max_pool_forward_nchw<float, int>"
"""Which no other rule is about."""


def kernels(name: str = POOL, count: int = 12, length: float = 4, **arguments: float) -> list[Any]:
    """Kernels with known blocks and occupancy."""
    rows = operators([("aten::add", name)] * count, kernel=length, period=50)
    for each in rows:
        if each["cat"] == "kernel":
            each["args"] |= {key.replace("_", " "): value for key, value in arguments.items()}
    return rows


def test_fewer_blocks_than_multiprocessors(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, kernels(blocks_per_SM=0.25))[RULE]
    assert finding.cost_us_per_step == pytest.approx(12 * 4 * 0.75)
    assert finding.gain_bound_us_per_step == pytest.approx(12 * 4 * 0.75 / 2)
    assert finding.evidence == (
        "12 kernels with fewer blocks than the device has multiprocessors take 48.0 us: "
        "100% of device work"
    )


def test_a_low_occupancy_is_reported_without_a_cost(tmp_path: Path) -> None:
    rows = kernels(length=30)
    for each in rows:
        if each["cat"] == "kernel":
            each["args"] |= {"blocks per SM": 4, "est. achieved occupancy %": 12}
    (finding,) = findings(tmp_path, rows)[RULE]
    assert (finding.severity, finding.cost_us_per_step) == ("info", 0)
    assert finding.evidence.startswith(
        "12 kernels above 20 us with an occupancy below 25% take 360 us: 100% of device work"
    )


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(kernels(blocks_per_SM=1), id="one block for each"),
        pytest.param(kernels(), id="unknown"),
        pytest.param(kernels("ampere_sgemm_64x64", blocks_per_SM=0.1), id="products"),
        pytest.param(kernels(blocks_per_SM=0.1, count=10), id="a snippet"),
        pytest.param(
            kernels("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", blocks_per_SM=0.6),
            id="a block for each channel",
        ),
        pytest.param(
            [
                *kernels(blocks_per_SM=0.1),
                *operators([("aten::mul", POOL)], start=9000, kernel=900),
            ],
            id="a small part",
        ),
    ],
)
def test_what_is_none(tmp_path: Path, rows: list[Any]) -> None:
    assert RULE not in findings(tmp_path, rows)


def test_kernels_at_a_time_have_no_share_above_the_whole(tmp_path: Path) -> None:
    """On four streams, each of them is most of device work."""
    rows = []
    for stream in range(4):
        some = operators(
            [("aten::add", POOL)] * 12, start=1000 + 2 * stream, period=50, stream=stream
        )
        rows += some
    for each in rows:
        if each["cat"] == "kernel":
            each["args"]["blocks per SM"] = 0.25
    (finding,) = findings(tmp_path, rows)[RULE]
    assert finding.evidence.endswith(": 100% of device work")


def test_communication_has_few_blocks_on_purpose() -> None:
    found = analyze(shared_trace("deepseek_h800_dualpipe_training")).data.findings
    assert RULE not in {finding.rule for finding in found}
