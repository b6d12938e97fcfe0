"""`loader-single-process`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.data.test_loader_wait import NAMES, STEP
from rules.drawn import findings

from tb_hookview import markers

ON_HOST = """
    main notes [ProfilerStep#1                                                      ]
    main notes  [single                        ]
    main ops                                     [aten::mm        ]
    """
TWO_LOADERS = """
    main notes [ProfilerStep#1                                                      ]
    main notes  [single                        ][next       ]
    main ops                                                   [aten::mm            ]
    """


def test_batches_made_between_the_steps(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(loader="single", before="k"), NAMES)
    (finding,) = found["loader-single-process"]
    assert finding.where == NAMES["single"]
    assert finding.cost_us_per_step
    assert finding.cost_us_per_step > 20
    assert "host-copy-torch-tensor" in {advice.id for advice in finding.advice}


def test_a_loader_with_workers(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(loader="next", before="k"), NAMES)
    assert "loader-single-process" not in found


def test_the_device_is_busy_meanwhile(tmp_path: Path) -> None:
    busy = STEP.format(loader="single", before="k" + " " * 46)
    assert "loader-single-process" not in findings(tmp_path, busy, NAMES)


def on_host(folder: Path, picture: str, devices: list[str]) -> dict[str, list[Any]]:
    manifest = {"version": 1, "device": {"parameters": devices}, "modules": []}
    return findings(folder, picture, NAMES, **{markers.MANIFEST_KEY: manifest})


def test_a_model_on_the_cpu_waits_for_its_loader(tmp_path: Path) -> None:
    (finding,) = on_host(tmp_path, ON_HOST, ["cpu"])["loader-single-process"]
    assert finding.cost_us_per_step == finding.gain_us_per_step == 32
    assert finding.gain_unknown is None
    assert "the host was in the loader for 32.0 us per step, 46% of it" in finding.evidence
    assert "torch.set_num_threads" in finding.fix
    assert "pin_memory" not in finding.fix
    assert any("workers compute on its cores" in caveat for caveat in finding.caveats)


def test_each_loader_saves_its_own_time(tmp_path: Path) -> None:
    found = on_host(tmp_path, TWO_LOADERS, ["cpu"])
    (single,), (workers,) = found["loader-single-process"], found["loader-wait"]
    assert (single.gain_us_per_step, workers.gain_us_per_step) == (32, 13)


@pytest.mark.parametrize("devices", [["cuda:0"], ["cpu", "cuda:0"], []])
def test_the_cost_for_a_device_that_was_not_recorded_is_unknown(
    tmp_path: Path, devices: list[str]
) -> None:
    (finding,) = on_host(tmp_path, ON_HOST, devices)["loader-single-process"]
    assert (finding.cost_us_per_step, finding.gain_us_per_step) == (None, None)
    assert "how long a device waited for it is not in this trace" in finding.evidence


def test_so_it_is_where_the_trace_does_not_show_where_the_model_is(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, ON_HOST, NAMES)["loader-single-process"]
    assert finding.cost_us_per_step is None
