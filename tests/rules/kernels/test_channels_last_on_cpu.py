"""`channels-last-on-cpu`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.cpu import findings, operator, step

RULE = "channels-last-on-cpu"
NCHW = {"layouts": ["contiguous"]}
POOL = operator("aten::max_pool2d_with_indices", 2000, 1000)


def depthwise(weight: list[int]) -> dict[str, Any]:
    row = operator("aten::convolution_backward", 2000, 1000)
    images = [4, weight[0], 16, 16]
    row["args"] |= {"Input Dims": [images, images, weight], "Input type": ["float"] * 3}
    return row


@pytest.mark.parametrize(
    ("row", "saved"),
    [(POOL, 850), (depthwise([64, 1, 7, 7]), 640)],
    ids=["pooling", "depthwise"],
)
def test_what_is_quicker_in_channels_last(
    tmp_path: Path, row: dict[str, Any], saved: float
) -> None:
    (finding,) = findings(tmp_path, [step(10_000), row], **NCHW)[RULE]
    assert finding.cost_us_per_step == 1000
    assert finding.gain_us_per_step == pytest.approx(saved)
    assert finding.evidence.startswith("1.00 ms per step, 10% of it, in ")


def test_an_overload_within_another_is_counted_once(tmp_path: Path) -> None:
    rows = [operator("aten::upsample_nearest2d", 2000 + i, 1000 - 2 * i) for i in range(2)]
    (finding,) = findings(tmp_path, [step(10_000), *rows], **NCHW)[RULE]
    assert finding.gain_us_per_step == pytest.approx(850)
    assert "in aten::upsample_nearest2d (1.00 ms);" in finding.evidence


@pytest.mark.parametrize(
    ("row", "manifest"),
    [
        (POOL, {"layouts": ["channels_last"]}),
        (POOL, {"layouts": ["contiguous", "channels_last"]}),
        (POOL, {}),
        (POOL, {**NCHW, "device": {"parameters": ["cuda:0"]}}),
        (operator("aten::max_pool2d_with_indices", 2000, 300), NCHW),
        (operator("aten::upsample_bicubic2d", 2000, 5000), NCHW),
        (depthwise([64, 1, 3, 3]), NCHW),
        (depthwise([64, 64, 7, 7]), NCHW),
        (depthwise([1, 1, 7, 7]), NCHW),
    ],
    ids=[
        "channels-last", "mixed", "unknown", "on a device", "short", "no quicker", "small filters",
        "another convolution", "one channel",
    ],
)  # fmt: skip
def test_what_is_none(tmp_path: Path, row: dict[str, Any], manifest: dict[str, Any]) -> None:
    assert RULE not in findings(tmp_path, [step(10_000), row], **manifest)
