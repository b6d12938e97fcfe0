"""`conv-bias-before-bn`."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from rules import drawn
from rules.drawn import findings

from tb_hookview.loading import load
from tb_hookview.report.build import build_report

PICTURE = """
    main ops   [aten::conv2d                         ] {counter} [{norm:17}]
    main ops    [aten::convolution                  ]
    main ops     [aten::_convolution               ]
    main ops      [aten::cudnn_conv] [{bias:11}  ]
    main calls     [launch corr=1 ]  [launch corr=2]              [launch corr=3]
    gpu  kernel      [conv corr=1   ]     [add corr=2 ]              [bn corr=3 ]
    """


def test_a_bias(tmp_path: Path) -> None:
    picture = PICTURE.format(counter="[aten::add_]", norm="aten::batch_norm", bias="aten::add_")
    (finding,) = findings(tmp_path, picture)["conv-bias-before-bn"]
    assert finding.cost_us_per_step == finding.gain_bound_us_per_step == pytest.approx(13)


@pytest.mark.parametrize(
    ("norm", "bias"),
    [("aten::relu", "aten::add_"), ("aten::batch_norm", "aten::copy_")],
    ids=["no norm", "no bias"],
)
def test_no_norm_or_no_bias(tmp_path: Path, norm: str, bias: str) -> None:
    picture = PICTURE.format(counter="[aten::add_]", norm=norm, bias=bias)
    assert "conv-bias-before-bn" not in findings(tmp_path, picture)


def test_something_in_between(tmp_path: Path) -> None:
    picture = PICTURE.format(counter="[aten::relu]", norm="aten::batch_norm", bias="aten::add_")
    assert "conv-bias-before-bn" not in findings(tmp_path, picture)


@pytest.mark.parametrize("training", ["True", "False"])
def test_a_batch_norm_of_inference_subtracts_no_bias_of_now(training: str, tmp_path: Path) -> None:
    picture = PICTURE.format(counter="[aten::add_]", norm="aten::batch_norm", bias="aten::add_")
    events = grid.events(picture, drawn.NAMES)
    for event in events:
        if event["name"] == "aten::batch_norm":
            inputs = {"Input Dims": [[8]] + [[]] * 5, "Input type": ["float"] + ["Scalar"] * 5}
            event["args"] |= {**inputs, "Concrete Inputs": [*[""] * 5, training]}
    report = build_report(load(grid.write(tmp_path / "t.json", events)))
    found = {finding.rule for finding in report.data.findings}
    assert ("conv-bias-before-bn" in found) == (training == "True")
