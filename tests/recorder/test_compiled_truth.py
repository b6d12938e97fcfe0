"""Modules in compiled regions against a truth by shapes, and what compiling gives without us."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tb_hookview.recorder.compiled import installation

WORKER = Path(__file__).resolve().parents[1] / "support" / "compiled_worker.py"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not installation.is_supported(), reason="modules in compiled regions need torch 2.10"
    ),
]


def run(cache: Path, *arguments: str) -> dict[str, Any]:
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, str(WORKER), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


EVENTS = {
    "mlp": [2, 3],
    "swapped": [2, 3],
    "nested": [2, 3],
    "tied": [6, 11],
    "conv": [4, 5],
    "transformer": [18, 35],
    "checkpoints": [10, 28],
    "autocast": [2, 3],
}
"""Events of products and convolutions in a step, forward and backward; torch 2.13."""


def assert_right(answer: dict[str, Any]) -> None:
    for name, found in answer["found"].items():
        assert found["wrong"] == [], name
        assert found["missing"] == [], name
        assert found["near"] == 0, name
        assert min(found["right"]) >= 2, name


def test_every_product_and_convolution_has_its_module_cold_and_warm(cache):
    names = list(EVENTS)
    cold = run(cache, "truth", "with", *names)
    assert cold["miss"] > 0
    assert_right(cold)
    warm = run(cache, "truth", "with", *reversed(names))
    assert (warm["hit"] > 0, warm["miss"]) == (True, 0)
    assert_right(warm)
    assert warm["found"] == {name: cold["found"][name] for name in names}


def test_another_process_has_a_model_of_the_same_graph(cache):
    """It is served what the first model left, and must have its own modules or none."""
    run(cache, "truth", "with", "mlp")
    other = run(cache, "truth", "with", "swapped", "nested")
    assert other["hit"] > 0
    for found in other["found"].values():
        assert found["wrong"] == []
        assert found["missing"] or min(found["right"]) >= 2


SAME = ("mlp", "swapped", "conv", "transformer")


def test_compiling_gives_the_same_with_and_without_us(tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    with_us = run(ours, "results", "with", *SAME)
    without = run(theirs, "results", "without", *SAME)
    assert (with_us["ours"], without["ours"]) == (True, False)
    assert with_us["found"] == without["found"]
    assert sources(ours) == sources(theirs) != {}
    # Keys of the graphs' cache are names of its folders.
    assert keys(ours) == keys(theirs) != []
    # A cache made with us is used without us, and the other way round.
    for cache, who in [(ours, "without"), (theirs, "with")]:
        warm = run(cache, "results", who, *SAME)
        assert (warm["hit"] > 0, warm["miss"]) == (True, 0)
        assert warm["found"] == without["found"]


def test_threads_that_compile_at_once_get_the_same_with_and_without_us(tmp_path):
    """Of results; which thread compiles what first, and so names of sources, is left to chance."""
    with_us = run(tmp_path / "ours", "threads", "with", "mlp", "conv")
    without = run(tmp_path / "theirs", "threads", "without", "mlp", "conv")
    assert (with_us["ours"], without["ours"]) == (True, False)
    assert with_us["found"] == without["found"]


def sources(cache: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in cache.rglob("*")
        if path.suffix in (".py", ".cpp") and "precompiled_headers" not in path.parts
    }


def keys(cache: Path) -> list[str]:
    folders = [*cache.glob("fxgraph/*/*"), *cache.glob("aotautograd/*")]
    return sorted(folder.name for folder in folders)
