from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview import markers
from tb_hookview.loading import analyze
from tb_hookview.report.result import Report
from tb_hookview.tables.catalogue import CATALOGUE

NAMES = {
    "fc": markers.encode("forward", "fc", "Linear"),
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
}
PICTURE = """
    main ops   [fc                   ]
    main ops     [aten::mm seq=4]       [mm' seq=4 F=1]
    """
TABLES = [name for name, entry in CATALOGUE.items() if not entry.computed]


def made(folder: Path, picture: str) -> Report:
    return analyze(grid.write(folder / "t.json", grid.events(picture, NAMES)))


def test_nested_fields_become_columns(tmp_path: Path) -> None:
    columns = made(tmp_path, PICTURE).modules.to_columns()
    assert columns["path"] == ["fc"]
    assert columns["class"] == ["Linear"]
    assert columns["backward.self_host_us"] == [15.0]
    assert columns["backward.device_us"] == [None]
    assert columns["recompute.device_us"] == [None]


def test_kinds_of_work_are_columns_of_their_own(tmp_path: Path) -> None:
    """0 without events of a kind, None where the trace has no device events."""
    picture = """
    main calls   [cudaLaunchKernel corr=1]
    gpu  kernel           [volta_sgemm_64x64_nt corr=1]
    """
    columns = made(tmp_path, PICTURE + picture).modules.to_columns()
    assert columns["forward.by_kind.matrix"] == [29.0]
    assert columns["forward.by_kind.copy"] == [0.0]
    assert columns["backward.by_kind.matrix"] == [0.0]
    assert columns["recompute.by_kind.matrix"] == [None]
    assert made(tmp_path, PICTURE).modules.to_columns()["forward.by_kind.matrix"] == [None]
    kernels = made(tmp_path, PICTURE + picture).kernels.to_columns()
    assert (kernels["by_phase.forward"], kernels["by_phase.backward"]) == ([29.0], [0.0])


@pytest.mark.parametrize("table", TABLES)
def test_every_trace_gives_the_same_columns(tmp_path: Path, table: str) -> None:
    full = getattr(made(tmp_path, PICTURE), table)
    empty = getattr(made(tmp_path, "main python [train.py]"), table)
    assert list(full.to_columns()) == list(empty.to_columns())


@pytest.mark.parametrize("table", TABLES)
def test_tables_convert(tmp_path: Path, table: str) -> None:
    rows = getattr(made(tmp_path, PICTURE), table)
    columns = list(rows.to_columns())
    pytest.importorskip("pandas", reason="needs pandas: pip install pandas")
    frame = rows.to_pandas()
    assert (len(frame), list(frame.columns)) == (len(rows), columns)
    pytest.importorskip("polars", reason="needs polars: pip install polars")
    frame = rows.to_polars()
    assert (len(frame), list(frame.columns)) == (len(rows), columns)


def test_a_table_is_a_sequence_of_rows(tmp_path: Path) -> None:
    modules = made(tmp_path, PICTURE).modules
    assert [module.path for module in modules] == ["fc"]
    assert modules[0].module_class == "Linear"


def test_every_table_is_an_attribute(tmp_path: Path) -> None:
    report = made(tmp_path, PICTURE)
    assert set(CATALOGUE) <= set(dir(report))
    for name in CATALOGUE:
        assert getattr(report, name).name == name
    with pytest.raises(AttributeError, match="'Report' object has no attribute 'modles'"):
        report.modles  # noqa: B018
