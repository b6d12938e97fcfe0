"""What the rows of a trace do not show is null in every table, and never 0."""

from __future__ import annotations

from pathlib import Path

import grid
from msgspec.structs import asdict

from tb_hookview.loading import load
from tb_hookview.markers import MANIFEST_KEY
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData

DEVICE = """
    gpu  kernel  [k corr=1   ]     [k corr=2  ]
"""
CALLS = """
    main calls   [cudaLaunchKernel corr=1][cudaLaunchKernel corr=2][cudaDeviceSynchronize]
    gpu  kernel               [k corr=1 ]                    [k corr=2       ]
"""
OPERATORS = """
    main ops     [aten::add seq=1   ]    [aten::mul seq=2   ]
    auto ops                                                   [AddBackward0 seq=1 F=1]
    gpu  kernel               [k corr=1 ]                    [k corr=2       ]
"""
MANIFEST = {MANIFEST_KEY: {"version": 1, "modules": [{"path": "", "class": "Net"}]}}


def report(folder: Path, picture: str) -> ReportData:
    return build_report(load(grid.write(folder / "t.json", grid.events(picture), **MANIFEST))).data


def test_a_device_alone(tmp_path: Path) -> None:
    data = report(tmp_path, DEVICE)
    coverage, totals, (step,) = data.coverage, data.totals, data.steps
    assert (coverage.backward_host_us, coverage.unattributed_host_us) == (None, None)
    assert (totals.profiler_sync_count, totals.profiler_sync_us) == (None, None)
    assert (totals.sync_waited_us, totals.sync_transfer_us) == (None, None)
    assert step.idle is not None
    assert data.per_step.idle is not None
    assert {cause: us for cause, us in asdict(step.idle).items() if us is not None} == {
        "unknown": step.device_idle_us
    }
    assert data.per_step.idle == step.idle
    assert step.communication_wait_us is data.per_step.communication_wait_us is None
    codes = {warning.code for warning in data.trace.warnings}
    assert ("no-host" in codes, "nothing-ran" in codes) == (True, False)


def test_calls_of_the_runtime_without_operators(tmp_path: Path) -> None:
    data = report(tmp_path, CALLS)
    (step,), (module,) = data.steps, data.modules
    assert step.idle is not None
    assert step.idle.data_loading is step.data_us is data.verdict.data_us is None
    assert None not in (step.idle.sync, step.idle.launch, step.idle.device, data.verdict.host_us)
    assert (module.sync.count, module.sync.blocked_us, module.kernel_loading_us) == (None,) * 3
    assert data.totals.sync_count == 1


def test_operators_without_calls_of_the_runtime(tmp_path: Path) -> None:
    data = report(tmp_path, OPERATORS)
    (step,) = data.steps
    assert step.idle is not None
    assert (step.idle.data_loading, step.communication_wait_us) == (0, 0)
    assert (step.idle.sync, step.idle.launch, step.idle.profiler) == (None, None, None)
    assert data.devices[0].tensor_core_eligible_us is None
    assert data.coverage.backward_host_us == 24


def test_the_thread_of_the_forward(tmp_path: Path) -> None:
    """Its launches are missing too, so the forward's device time may be any."""
    picture = """
        auto ops            [node seq=1 F=1                       ]
        auto calls            [cudaLaunchKernel corr=2]
        gpu  kernel [k corr=1]                    [k corr=2  ]
        """
    drawn = grid.events(picture, {"node": "autograd::engine::evaluate_function: AddBackward0"})
    data = build_report(load(grid.write(tmp_path / "t.json", drawn))).data
    (step,) = data.steps
    assert (step.forward_us, step.backward_us) == (None, 39)
    totals = data.totals
    assert (totals.forward_device_us, totals.forward_compute_us) == (None, None)
    assert totals.backward_device_us == 12
