"""`kernel-first-use`."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from rules.drawn import findings

from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.report.whatif import WhatIfs

RULE = "kernel-first-use"
NAMES = {"load": "cuModuleLoadData", "net": "nn.Module: Net_0"}
LOADS = """
    main ops    [aten::add                                                                 ]
    main calls  [launch corr=1][load                                       ][launch corr=2 ]
    gpu  kernel    [a corr=1 ]                                                 [b corr=2]
    """


def test_a_module_is_loaded_while_the_device_idles(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, LOADS, NAMES)[RULE]
    assert finding.where == "first use of kernels"
    assert finding.cost_us_per_step == 45
    assert finding.gain_bound_us_per_step is None
    assert finding.evidence.startswith(
        "the host loaded code for 45.0 us in 1 call in the trace, 0 of which launched"
    )
    assert finding.confidence == "high"
    assert "warm-up" in finding.caveats[0]


@pytest.mark.parametrize("vendor", ["cuda", "hip"])
def test_a_variable_of_cuda_is_no_remedy_elsewhere(tmp_path: Path, vendor: str) -> None:
    calls = {"load": f"{vendor}ModuleLoadData", "launch": f"{vendor}LaunchKernel"}
    (finding,) = findings(tmp_path, LOADS, calls)[RULE]
    assert finding.fix.startswith("Warm up before recording")
    assert ("CUDA_MODULE_LOADING" in finding.fix) == (vendor == "cuda")


def test_modules_that_are_charged_for_it_are_named(tmp_path: Path) -> None:
    picture = LOADS.rstrip() + "\n    main python [net" + 73 * " " + "]\n"
    (finding,) = findings(tmp_path, picture, NAMES)[RULE]
    assert "most of all those of Net_0 (45.0 us)" in finding.evidence


def test_a_load_while_the_device_is_busy(tmp_path: Path) -> None:
    picture = """
        main calls  [launch corr=1][load                         ]  [launch corr=2]
        gpu  kernel    [a corr=1                                                      ][b corr=2]
        """
    (finding,) = findings(tmp_path, picture, NAMES)[RULE]
    assert finding.severity == "info"
    assert "host times contain it" in finding.evidence


def test_a_load_in_the_first_step_of_several(tmp_path: Path) -> None:
    picture = """
        main notes  [ProfilerStep#1                                    ][ProfilerStep#2                 ]
        main ops     [aten::add                                       ]  [aten::add           ]
        main calls   [launch corr=1][load              ][launch corr=2]  [launch corr=3]
        gpu  kernel     [a corr=1 ]                        [b corr=2]        [b corr=3]
        """
    assert RULE not in findings(tmp_path, picture, NAMES)
    lone = picture.replace("ProfilerStep#2", "something")
    assert RULE in findings(tmp_path, lone, NAMES)


def test_no_load(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, LOADS.replace("[load", "[wait"), NAMES)


def test_a_what_if_knows_no_more_than_the_finding_whose_gain_is_unknown(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events(LOADS, NAMES))
    what_ifs = WhatIfs(Selection(load(path), None))
    refused = what_ifs.answer([RULE])
    assert (refused.predicted_us, refused.steps) == (None, 1)
    assert "this trace does not show what the fix gains" in (refused.refused or "")
    assert "scale kernel_loading" in (refused.refused or "")
    for factor in (1.0, 0.5):
        scale = {"host": factor}
        both, alone = what_ifs.answer([RULE], scale), what_ifs.answer([], scale)
        assert both.predicted_us == alone.predicted_us
        assert both.as_recorded == [f"{RULE}:first use of kernels"]
        assert alone.as_recorded == []
