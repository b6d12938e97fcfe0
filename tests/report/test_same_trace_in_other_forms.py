"""Attribution of a real trace as other versions of torch write it.

A trace of torch 2 with Python stacks is rewritten as torch 1.8 or Lightning would have it. Where
its own modules are known, those must come out the same.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shared_traces
from analysis.owners import EVALUATE, assert_sums
from support.loaded import loaded, reported

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import Module, ReportData

Row = dict[str, Any]
STACKS = "tracelens_mi300_resnet_checkpointing_ddp"
_LABEL = re.compile(r"nn\.Module: ((.+)_\d+)")


@cache
def _rows() -> list[Row]:
    text = gzip.decompress(shared_traces.shared_trace(STACKS).read_bytes())
    rows: list[Row] = json.loads(text)["traceEvents"]
    return rows


@cache
def _whole() -> ReportData:
    return reported(STACKS).data


def _told(folder: Path, rows: Iterable[Row]) -> ReportData:
    path = folder / "t.json"
    path.write_text(json.dumps({"traceEvents": list(rows)}))
    data = build_report(load(path)).data
    assert_sums(data)
    return data


def _times(modules: Iterable[Module], of: Callable[[Module], float | None]) -> dict[str, float]:
    return {module.path: of(module) or 0.0 for module in modules}


def test_nodes_of_torch_1_8_bear_the_names_of_what_made_them() -> None:
    """`CudnnConvolutionBackward` was made by `aten::cudnn_convolution`, and so on for all."""
    for name in ("kineto_resnet50_num_workers_0", "kineto_resnet50_num_workers_4"):
        analysis = loaded(name)
        nodes, host = analysis.nodes, analysis.host
        made = np.flatnonzero(nodes.by_sequence >= 0)
        pairs = {
            (host.name(int(nodes.row[node])), host.name(int(nodes.by_sequence[node])))
            for node in made.tolist()
        }
        unlike = {pair for pair in pairs if _stem(pair[0]) != _stem(pair[1])}
        assert not unlike


def _stem(name: str) -> str:
    plain = name.removeprefix(EVALUATE).rpartition("::")[2]
    return re.sub(r"Backward\d*$|_forward$|_", "", plain).lower()


def test_without_evaluate_rows_and_arrows_modules_come_out_the_same(tmp_path: Path) -> None:
    """Modules are the same in the form of torch 1.8.

    Device events launched outside of a node's own row (sums of gradients, a reducer's) are then in
    no node; those of the node's own row all are.
    """
    rows = [
        row
        for row in _rows()
        if not str(row.get("name")).startswith(EVALUATE) and row.get("cat") != "fwdbwd"
    ]
    data, whole = _told(tmp_path, rows), _whole()
    for kind in ("matrix", "convolution", "normalization"):
        assert _times(data.modules, partial(_of_kind, kind)) == pytest.approx(
            _times(whole.modules, partial(_of_kind, kind)), abs=1e-3
        )
    assert sum(m.recompute is not None for m in data.modules) > 0
    for one, other in zip(data.modules, whole.modules, strict=True):
        assert (one.recompute is None) == (other.recompute is None)
        if one.recompute is not None and other.recompute is not None:
            assert one.recompute.device_us == pytest.approx(other.recompute.device_us, abs=1e-3)


def _of_kind(kind: str, module: Module) -> float:
    return (module.backward.by_kind or {}).get(kind, 0.0)


def _own_device(side: str, module: Module) -> float:
    return getattr(module, side).self_device_us or 0.0


def test_arrows_alone_lead_to_the_same_modules(tmp_path: Path) -> None:
    """Without a single sequence number."""
    rows = []
    for row in _rows():
        args = {k: v for k, v in row.get("args", {}).items() if k != "Sequence number"}
        rows.append({**row, "args": args} if "args" in row else row)
    data, whole = _told(tmp_path, rows), _whole()
    assert data.coverage.by_evidence["fwdbwd"] > 0
    own = [(m.path, m.backward.self_host_us) for m in data.modules]
    assert dict(own) == pytest.approx(_times(whole.modules, lambda m: m.backward.self_host_us))


def test_lightnings_annotations_name_the_modules_that_stacks_do(tmp_path: Path) -> None:
    rows = []
    for row in _rows():
        if found := _LABEL.fullmatch(str(row.get("name"))):
            annotation = f"[pl][module]{found[2]}: {found[1]}"
            rows.append({**row, "cat": "user_annotation", "name": annotation, "args": {}})
        elif row.get("cat") != "python_function":
            rows.append(row)
    data, whole = _told(tmp_path, rows), _whole()
    assert data.coverage.by_evidence["lightning"] > 0
    assert "python_stack" not in data.coverage.by_evidence
    for side in ("forward", "backward"):
        of = partial(_own_device, side)
        assert _times(data.modules, of) == pytest.approx(_times(whole.modules, of), abs=1e-3)
    assert data.coverage.unattributed_us == pytest.approx(whole.coverage.unattributed_us)
