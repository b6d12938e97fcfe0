"""The features that the dry run is checked with, on a GPU: what warns and what is recorded of each.

Three counts of the same call, line by line: what `tests/support/sync_features.py` expects, warnings
under `torch.cuda.set_sync_debug_mode("warn")`, and calls of the CUDA runtime that block in a
recording. Warnings leave out explicit waits and those of Thrust; recordings have both.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from sample_traces.scenario import UnavailableError

from .results import Results

_BLOCKING = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy")
SHARES = 4
"""Processes that each run every fourth feature."""
_WARNING = "called a synchronizing CUDA operation"


def features(results: Results) -> dict[str, Any]:
    """Return the counts of each feature, and those that differ."""
    if not results.setting.cuda:
        raise UnavailableError("needs a CUDA device")
    support = _features()
    names = sorted(support.FEATURES)
    if results.only:
        names = names[int(results.only) :: SHARES]
    found = {}
    for name in names:
        found[name] = _feature(support, support.FEATURES[name])
        print(f"{name}: {found[name]}", flush=True)
    different = [name for name, counts in found.items() if not counts.get("as expected")]
    return {"features": len(found), "different": different, "counts": found}


def _features() -> Any:
    tests = str(Path(__file__).resolve().parents[2] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    return import_module("support.sync_features")


def _feature(support: Any, feature: Any) -> dict[str, Any]:
    expected = {"expected": feature.syncs, "uncertain": feature.uncertain, "why": feature.why}
    try:
        feature.run(support.Tensors())  # kernels are loaded, libraries initialised
        warned, lines = _warned(feature, support.Tensors())
        calls = _recorded(feature, support.Tensors())
    except Exception as error:  # noqa: BLE001 - a result; the others go on
        return {**expected, "error": f"{type(error).__name__}: {error}".partition("\n")[0]}
    recorded = calls.total()
    fits = range(feature.syncs, feature.syncs + feature.uncertain + 1)
    return {
        **expected,
        "warned": warned,
        "lines": lines,
        "recorded": dict(calls),
        "as expected": recorded in fits or warned in fits,
    }


def _warned(feature: Any, tensors: Any) -> tuple[int, dict[str, int]]:
    """Warnings of a call, and the lines that they name."""
    torch.cuda.synchronize()
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            feature.run(tensors)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    syncs = [each for each in noted if _WARNING in str(each.message)]
    return len(syncs), Counter(f"{Path(each.filename).name}:{each.lineno}" for each in syncs)


def _recorded(feature: Any, tensors: Any) -> Counter[str]:
    """Blocking calls of the CUDA runtime in a recording of a call."""
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recording:
        feature.run(tensors)
    found = Counter(event.name for event in recording.events() if event.name in _BLOCKING)
    found["cudaDeviceSynchronize"] -= 1  # the profiler's own as it stops
    return +found


def main() -> int:
    """Run the part."""
    results = Results("syncs", __doc__)
    return results.measure({"features": lambda: features(results)})


if __name__ == "__main__":
    sys.exit(main())
