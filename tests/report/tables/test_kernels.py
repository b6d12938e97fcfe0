"""Device events by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grid
import pytest

from tb_hookview.loading import analyze, load
from tb_hookview.report.tables import kernels as kernel_table
from tb_hookview.schema import Kernel, ReportData

NAMES = {
    "go": "cudaLaunchKernel",
    "copy": "cudaMemcpyAsync",
    "graph": "cudaGraphLaunch",
    "gemm": "volta_sgemm_64x64_nt",
    "HtoD": "Memcpy HtoD (Pageable -> Device)",
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
}
PICTURE = """
    main ops    [aten::mm seq=4          ]   [mm' seq=4 F=1]
    main calls   [go corr=1]  [copy corr=2]   [go corr=3]     [graph corr=4]
    gpu  kernel                [gemm corr=1]           [gemm corr=3       ] [gemm corr=4] [gemm corr=9]
    gpu  copy                                   [HtoD corr=2]
    """


def report(folder: Path, picture: str, names: Mapping[str, str] = NAMES) -> ReportData:
    return analyze(grid.write(folder / "t.json", grid.events(picture, names))).data


def measured(folder: Path, *kernels: tuple[float, dict[str, Any]]) -> Kernel:
    """One row made of kernels of these durations and arguments."""
    traced = [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 100 * n, "dur": dur,
         "args": {"device": 0, **args}}
        for n, (dur, args) in enumerate(kernels)
    ]  # fmt: skip
    (row,) = analyze(grid.write(folder / "t.json", traced)).data.kernels
    return row


def test_rows_by_name_dearest_first(tmp_path: Path) -> None:
    gemm, copy = report(tmp_path, PICTURE).kernels
    assert (gemm.name, gemm.kind, gemm.event) == ("volta_sgemm_64x64_nt", "matrix", "kernel")
    assert (gemm.count, gemm.graph_count, gemm.tensor_core) == (4, 1, False)
    assert (gemm.total_us, gemm.mean_us, gemm.max_us) == (59.0, 14.75, 20.0)
    assert gemm.by_phase == {"backward": 20.0, "forward": 13.0, "other": 13.0}
    assert (gemm.occupancy_pct, gemm.blocks_per_sm) == (None, None)
    assert (copy.name, copy.kind, copy.event) == (NAMES["HtoD"], "copy", "copy")
    assert copy.count == 1


def test_a_long_table_is_cut_and_what_is_left_out_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_table, "LONGEST", 1)
    data = report(tmp_path, PICTURE)
    assert [kernel.name for kernel in data.kernels] == [NAMES["gemm"]]
    omitted = data.kernels_omitted
    assert omitted is not None
    assert (omitted.names, omitted.count, omitted.total_us) == (1, 1, 13.0)


def test_a_trace_without_device_work_has_no_rows(tmp_path: Path) -> None:
    data = report(tmp_path, "main ops  [aten::mm]")
    assert (data.kernels, data.kernels_omitted) == ([], None)


def test_occupancy_is_weighted_by_duration(tmp_path: Path) -> None:
    row = measured(
        tmp_path,
        (30, {"est. achieved occupancy %": 100, "blocks per SM": 2.5}),
        (10, {"est. achieved occupancy %": 20, "blocks per SM": 0.5}),
        (40, {}),
    )
    assert (row.occupancy_pct, row.blocks_per_sm) == (80.0, 2.0)


def test_an_occupancy_of_the_smaller_part_of_the_time_is_not_known(tmp_path: Path) -> None:
    arguments = {"est. achieved occupancy %": 100, "blocks per SM": 2.5}
    row = measured(tmp_path, (30, arguments), (31, {}))
    assert (row.occupancy_pct, row.blocks_per_sm) == (None, None)


@pytest.mark.parametrize("odd", ["Infinity", "N/A", None, [1], 10**400])
def test_what_is_no_number_is_not_known(tmp_path: Path, odd: Any) -> None:
    row = measured(tmp_path, (30, {"est. achieved occupancy %": odd, "blocks per SM": odd}))
    assert (row.occupancy_pct, row.blocks_per_sm) == (None, None)
    assert row.count == 1


def test_kernels_that_took_no_time_count_alike(tmp_path: Path) -> None:
    row = measured(
        tmp_path, (0, {"est. achieved occupancy %": 10}), (0, {"est. achieved occupancy %": 30})
    )
    assert row.occupancy_pct == 20.0


def test_a_slow_obvious_sum_agrees(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events(PICTURE, NAMES))
    work, trace = load(path).device_events, load(path).trace
    sums: dict[str, float] = {}
    for event, duration in zip(work.event.tolist(), work.duration.tolist(), strict=True):
        name = trace.strings[int(trace.events.name[event])]
        sums[name] = sums.get(name, 0.0) + duration / 1000
    assert sums == {kernel.name: kernel.total_us for kernel in analyze(path).data.kernels}
