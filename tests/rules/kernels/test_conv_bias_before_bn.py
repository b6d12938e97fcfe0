"""`conv-bias-before-bn`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import findings

PICTURE = """
    main ops   [aten::conv2d                         ] {counter} [{norm:17}]
    main ops    [aten::convolution                  ]
    main ops     [aten::_convolution               ]
    main ops      [aten::cudnn_conv] [{bias:11}  ]
    main calls     [launch corr=1 ]  [launch corr=2]              [launch corr=3]
    gpu  kernel      [conv corr=1   ]     [add corr=2 ]              [bn corr=3 ]
    """


def test_a_bias(tmp_path: Path) -> None:
    drawn = PICTURE.format(counter="[aten::add_]", norm="aten::batch_norm", bias="aten::add_")
    (finding,) = findings(tmp_path, drawn)["conv-bias-before-bn"]
    assert finding.cost_us_per_step == finding.gain_bound_us_per_step == pytest.approx(13)


@pytest.mark.parametrize(
    ("norm", "bias"),
    [("aten::relu", "aten::add_"), ("aten::batch_norm", "aten::copy_")],
    ids=["no norm", "no bias"],
)
def test_no_norm_or_no_bias(tmp_path: Path, norm: str, bias: str) -> None:
    drawn = PICTURE.format(counter="[aten::add_]", norm=norm, bias=bias)
    assert "conv-bias-before-bn" not in findings(tmp_path, drawn)


def test_something_in_between(tmp_path: Path) -> None:
    drawn = PICTURE.format(counter="[aten::relu]", norm="aten::batch_norm", bias="aten::add_")
    assert "conv-bias-before-bn" not in findings(tmp_path, drawn)
