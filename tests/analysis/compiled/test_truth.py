"""Compiled models end to end: shapes that occur once say which module each operator is of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from analysis.owners import assert_sums
from support.compiled_models import JUDGED, MODELS, true_modules
from support.compiling import RECORDINGS, recording
from support.recording import Span

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.report.build import build_report

pytestmark = pytest.mark.skipif(
    tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 10),
    reason="the recorder has no map before torch 2.10",
)


def judged(analysis: Analysis) -> Iterator[tuple[int, str]]:
    """Rows of operators that shapes can judge, directly inside of compiled graphs."""
    host, graph = analysis.host, "## Call CompiledFxGraph"
    for row in np.flatnonzero(host.call_tree.parent >= 0).tolist():
        above = host.name(int(host.call_tree.parent[row]))
        if above.startswith(graph) and host.name(row).removeprefix("aten::") in JUDGED:
            yield row, host.name(row)


def input_dims(analysis: Analysis, row: int) -> Any:
    trace = analysis.trace
    return json.loads(trace.texts[int(trace.events.shapes[analysis.call_tree.event[row]])])


def check(name: str, model: torch.nn.Module, path: Path) -> None:
    analysis = load(path)
    data = build_report(analysis).data
    assert_sums(data)
    assert data.compiled is not None
    assert data.compiled.placed == data.compiled.calls >= 2, data.compiled.whole_by_reason
    directions, wrong = set(), []
    for row, operator in judged(analysis):
        span = Span(operator, 0, 0, 0, {"Input Dims": input_dims(analysis, row)})
        module = analysis.modules.path[int(analysis.attribution.row_module[row])]
        directions.add(bool(analysis.row_node[row] >= 0))
        if module not in true_modules(model, MODELS[name], span):
            wrong.append((operator, module, span.args["Input Dims"]))
    assert directions == {False, True}
    assert wrong == []


SLOW = [pytest.param(*each, marks=pytest.mark.slow) for each in RECORDINGS[1:]]


@pytest.mark.parametrize(("process", "name"), [RECORDINGS[0], *SLOW])
def test_every_operator_is_of_its_module(session_folder: Path, process: str, name: str) -> None:
    """Compiled in that process, or found in a cache, by itself or of another model."""
    known = name.partition(",")[0]
    check(known, MODELS[known].make(), recording(session_folder, process, name).path)
