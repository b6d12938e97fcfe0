"""Maps against the Triton code that Inductor generates for a GPU, which need not be there."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.compiled_models import MODELS

from tb_hookview.recorder.compiled import installation

WORKER = Path(__file__).resolve().parents[1] / "support" / "pretended_gpu.py"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not installation.is_supported(), reason="modules in compiled regions need torch 2.10"
    ),
    pytest.mark.skipif(
        importlib.util.find_spec("triton") is None,
        reason="needs triton: pip install triton (1 GB)",
    ),
]
CASES = ("user kernels", "combo kernels", "templates", "nested regions", "SGD", "Adam")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What Inductor made of each case, graph by graph, forward first."""
    folder = str(tmp_path_factory.mktemp("cache"))
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, str(WORKER), *MODELS, *CASES],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def launches(source: str) -> Iterator[tuple[str, bool]]:
    """Kernels that a generated wrapper calls, in order; True for operators."""
    defined = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef)]
    (call,) = (each for each in defined if each.name == "call")
    found = [each for each in ast.walk(call) if isinstance(each, ast.Call)]
    for each in sorted(found, key=lambda node: (node.lineno, node.col_offset)):
        name = ast.unparse(each.func)
        if name.startswith(("extern_kernels.", "torch.ops.", "aten.")):
            yield name, True
        elif name.endswith(".run"):
            yield name.removesuffix(".run"), False


def modules(graph: dict[str, Any]) -> list[tuple[str, list[str | None]]]:
    return [(name, [part[0] for part in parts]) for name, _, parts in graph["calls"]]


@pytest.mark.parametrize("case", [*MODELS, *CASES])
def test_the_generated_program_has_the_calls_of_the_map_in_order(generated, case):
    assert generated[case]
    for graph in generated[case]:
        if case == "nested regions" and graph["why"] == "subgraph":
            continue
        assert graph["why"] == ""
        in_map = [(name, extern) for name, extern, _ in graph["calls"]]
        assert list(launches(graph["source"])) == in_map
        assert any(not extern for _, extern in in_map), "some Triton kernel"
        assert all(parts for *_, parts in graph["calls"]), "each call serves somebody"


@pytest.mark.parametrize("case", MODELS)
def test_both_directions_were_compiled(generated, case):
    assert [graph["backward"] for graph in generated[case]] == [False, True]


def test_a_kernel_of_the_users_is_of_the_module_that_launches_it(generated):
    (graph,) = generated["user kernels"]
    assert modules(graph) == [
        ("extern_kernels.addmm", ["L['fn'].0"]),
        ("twice_kernel_0", ["L['fn'].1"]),
        ("triton_poi_fused_relu_0", ["L['fn'].2"]),
        ("twice_kernel_0", ["L['fn'].3"]),
        ("extern_kernels.addmm", ["L['fn'].4"]),
    ]


def test_a_combo_kernel_is_of_all_its_modules(generated):
    (graph,) = generated["combo kernels"]
    ((_, _, parts),) = graph["calls"]
    sizes = {module: size for module, size in parts if size}
    assert sizes.keys() == {"L['self'].left", "L['self'].right"}
    assert sizes["L['self'].left"] > sizes["L['self'].right"] > 0


def test_a_template_is_of_the_layer_whose_product_it_is(generated):
    forward, backward = generated["templates"]
    products = [parts for name, parts in modules(forward) if name.startswith("triton_tem")]
    assert [parts[0] for parts in products] == ["L['self'].first", "L['self'].second"]
    products = [parts for name, parts in modules(backward) if name.startswith("triton_tem")]
    assert [set(parts) for parts in products] == [
        {"L['self'].second"},  # of the weight
        {"L['self'].second", "L['self'].act"},  # of the input, with what comes before it
        {"L['self'].first"},
    ]


def test_regions_of_a_region_are_right_or_whole(generated):
    part, last = ["L['self'].part"], ["L['self'].last"]
    forward, backward = (
        [parts for name, parts in modules(graph) if name.endswith("mm")]
        for graph in generated["nested regions"]
    )
    assert forward in ([], [part, part, last])
    assert backward in ([], [last, last, part, part, part])


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_compiled_optimizer_is_of_no_module(generated, optimizer):
    for graph in generated[optimizer]:
        assert {module for _, parts in modules(graph) for module in parts} == {None}
