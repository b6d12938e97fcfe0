"""Phrases that a native engineer would not use stay out of what people read (glossary.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INSTEAD = {
    "a late rank": "a straggler",
    "a step is no shorter": "no saving: off the critical path",
    "an annotation is none": "annotations don't count",
    "anew": "again",
    "are no step any more": "the combined factor may not exceed",
    "as high as the host waits": "height: time blocked",
    "Batches are loaded by the process": "Data loading runs in the training process",
    "Bounds and no promise": "Estimate by trace replay",
    "Compiled code breaks off": "Graph break",
    "cost a step": "cost/step",
    "costs a step": "cost per step",
    "could be on them": "tensor-core eligible",
    "dear": "expensive",
    "dearest": "most expensive",
    "decides now": "bottleneck",
    "decides then": "new bottleneck",
    "each region is one lump": "not broken down by module",
    "Forward of its own": "Self forward time",
    "gain a step": "saving/step",
    "hangs on": "depends on",
    "Held against recordings": "Validation",
    "held unused": "reserved, unused",
    "Hold a trace to limits": "Check a trace against limits",
    "idle although work is queued": "idle with work queued",
    "idle on device idle": "GPU idle gap",
    "is no mere remark": "is more than informational",
    "kin": "similar calls",
    "late launches": "launch-bound",
    "late rank's": "straggler's",
    "late ranks": "stragglers",
    "ledger": "cost accounting",
    "bill": "cost",
    "less freed": "net increase",
    "likewise": "the same",
    "loading of kernels": "lazy kernel loading",
    "made outside every module": "not made in a module",
    "mean life": "mean lifetime",
    "mend": "repair",
    "mends": "repairs",
    "microseconds a step": "microseconds per step",
    "milliseconds a step": "milliseconds per step",
    "module's own time": "module's self time",
    "nanoseconds a step": "nanoseconds per step",
    "not counted: the profiler's own": "profiler's own excluded",
    "no promises": "an estimate",
    "nobody waited for this answer": "request cancelled",
    "of it self": "self time",
    "other devices or none": "or CPU only",
    "outside every module": "not in a module",
    "outside of every module": "not in a module",
    "own time": "self time",
    "own device time": "self device time",
    "own host time": "self host time",
    "Page and server do not fit together": "Page and server versions don't match",
    "piece of work": "device event",
    "products without known FLOPs": "GEMM time without FLOP counts",
    "Quicker or slower": "Scale durations",
    "Replayed without it": "Estimated saving",
    "rules were looked for": "rules checked",
    "saves that at most": "saves at most",
    "step that counts": "measured step",
    "steps that count": "measured steps",
    "so many": "N",
    "taken to be unnecessary": "assumes that none is needed",
    "the device decides": "device-bound",
    "the host decides": "host-bound",
    "the least that is in use": "baseline memory",
    "the memory runs out in the end": "will eventually run out of memory",
    "then decides": "new bottleneck",
    "This has no answer": "No prediction available",
    "told": "reported",
    "waiting for the host to launch": "launch-bound",
    "waits and syncs": "syncs",
    "waits for others": "straggler wait",
    "what is of a module below": "child modules are counted separately",
    "What led to it": "Call stack",
    "What speaks against": "Data-quality warnings",
    "What the fix gains is unknown": "saving not estimated",
    "Which module to open": "Top modules by self time",
    "with below": "including children",
    "Without these findings": "Apply fixes",
    "worth no ink": "shown as a dash",
}
"""What is not written, and what is."""
_UNWANTED = re.compile("|".join(rf"\b{re.escape(each)}\b" for each in INSTEAD), re.IGNORECASE)
_OLD = {"CHANGELOG.md", "changed_figures.md"}


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """String literals and docstrings of a module, with their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    yield from _strings(path) if path.suffix == ".py" else [(0, path.read_text())]


def phrases(text: str) -> list[str]:
    """The phrases of the list in a text, however its lines are broken."""
    return _UNWANTED.findall(" ".join(text.split()))


def found_in(path: Path) -> list[str]:
    """The phrases of a file, with what to write instead."""
    by_lower = {each.lower(): words for each, words in INSTEAD.items()}
    return [
        f"{path.relative_to(ROOT)}:{line}: {words!r}: write {by_lower[words.lower()]!r}"
        for line, text in _texts(path)
        for words in phrases(text)
    ]


READ = {
    "package": "tb_hookview/**/*.py",
    "page": "frontend/src/**/*.ts*",
    "docs": "docs/**/*.md",
    "results": "benchmarks/results/*.md",
}


@pytest.mark.parametrize("pattern", READ.values(), ids=READ)
def test_no_text_uses_a_phrase_of_the_list(pattern: str) -> None:
    paths = [path for path in ROOT.glob(pattern) if path.name not in _OLD]
    assert len(paths) > 10  # the pattern fits
    assert [hit for path in paths for hit in found_in(path)] == []


def test_a_phrase_is_noticed_across_a_line_break() -> None:
    assert phrases("mean of the steps\n    that count") == ["steps that count"]
