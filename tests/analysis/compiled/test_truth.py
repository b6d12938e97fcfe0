"""Compiled models end to end: shapes that occur once say which module each operator is of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from analysis.owners import assert_sums
from support.compiled_models import JUDGED, MODELS, batch, train, true_modules
from support.recording import Span, only_trace_path

import tb_hookview as hookview
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.report.build import build_report

pytestmark = pytest.mark.slow
TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])


@pytest.fixture(scope="module", autouse=True)
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiler caches of this file alone: cold for the first model, then shared by all."""
    if TORCH < (2, 10):
        pytest.skip("the recorder has no map before torch 2.10")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        torch._dynamo.reset()
        yield
        torch._dynamo.reset()


def recorded(name: str, folder: Path, *, wrap_first: bool = False) -> tuple[torch.nn.Module, Path]:
    known, model = MODELS[name], MODELS[name].make()
    torch._dynamo.reset()
    if wrap_first:
        hookview.wrap(model)
    call = torch.compile(model)
    if not wrap_first:
        hookview.wrap(call)
    train(call, batch(known))
    with hookview.profile(folder, record_shapes=True):
        train(call, batch(known))
    hookview.unwrap(model if wrap_first else call)
    return model, only_trace_path(folder)


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


@pytest.mark.parametrize("name", MODELS)
def test_every_operator_is_of_its_module_cold_and_warm(name: str, tmp_path: Path) -> None:
    check(name, *recorded(name, tmp_path / "cold"))
    check(name, *recorded(name, tmp_path / "warm"))


def test_wrapped_before_it_was_compiled(tmp_path: Path) -> None:
    check("mlp", *recorded("mlp", tmp_path, wrap_first=True))


def test_another_process_with_a_model_of_the_same_graph(tmp_path: Path) -> None:
    """It is served what this process left in the caches, and has its own modules."""
    recorded("mlp", tmp_path / "first")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for name in ("mlp", "swapped"):
            path = pool.submit(recorded_trace, name, tmp_path / name).result()
            check(name, MODELS[name].make(), path)


def recorded_trace(name: str, folder: Path) -> Path:
    return recorded(name, folder)[1]
