"""What compiling gives with us and without: results, sources of kernels and keys of caches."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from support.compiling import run

from tb_hookview.recorder.compiled import installation

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not installation.is_supported(), reason="modules in compiled regions need torch 2.10"
    ),
]

SAME = ("mlp", "swapped", "conv", "checkpoints")


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
