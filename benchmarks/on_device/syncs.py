"""The features that the dry run is checked with, on a GPU: what warns and what is recorded of each.

Three counts of the same call: what `tests/support/sync_features.py` expects, warnings under
`torch.cuda.set_sync_debug_mode("warn")`, and calls of the CUDA runtime that wait in a recording,
less those of an empty recording. Recordings decide. Warnings are of torch's own code: waits of
libraries (Thrust, cuSOLVER) and explicit ones raise none, nor does an operator called by
`torch.ops` raise one that Python can catch.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from sample_traces.scenario import UnavailableError

from .results import Results

_SYNCHRONIZES = frozenset(
    ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy")
)
_FREES = "cudaFree"
"""Waits for the device."""
_READS = "Device -> Pageable"
"""In the name of a copy that has happened when its call returns, asynchronous or not."""
SHARES = 4
"""Processes that each run every fourth feature."""
_WARNING = "called a synchronizing CUDA operation"
_PROFILE = frozenset(("NVTX for each operator", "profiler"))
"""Features that profile themselves, inside of which nothing can be recorded."""


def features(results: Results) -> dict[str, Any]:
    """Return the counts of each feature by how they compare."""
    if not results.setting.cuda:
        raise UnavailableError("needs a CUDA device")
    support = _features()
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    all_of_them: dict[str, Any] = support.FEATURES
    names = sorted(
        name
        for name, feature in all_of_them.items()
        if feature.since <= version <= feature.until and name not in _PROFILE
    )
    if results.only:
        names = names[int(results.only) :: SHARES]
    own = _recorded(lambda: None, Counter())
    found = {}
    for name in names:
        found[name] = _feature(support, all_of_them[name], own)
        print(f"{name}: {found[name]}", flush=True)
    verdicts = Counter(counts["verdict"] for counts in found.values())
    return {"features": len(found), "verdicts": dict(verdicts), "own": dict(own), "counts": found}


def _features() -> Any:
    tests = str(Path(__file__).resolve().parents[2] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    return import_module("support.sync_features")


def _feature(support: Any, feature: Any, own: Counter[str]) -> dict[str, Any]:
    expected = {"expected": feature.syncs, "uncertain": feature.uncertain, "why": feature.why}
    try:
        feature.run(support.Tensors())  # kernels are loaded, libraries initialised
        warned, lines = _warned(feature, support.Tensors())
        tensors = support.Tensors()
        calls = _recorded(lambda: feature.run(tensors), own)
    except Exception as error:  # noqa: BLE001 - a result; the others go on
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        return {**expected, "error": text, "verdict": "raised"}
    return {
        **expected,
        "warned": warned,
        "lines": lines,
        "recorded": dict(calls),
        "verdict": verdict(feature.syncs, feature.uncertain, warned, calls.total()),
    }


def verdict(expected: int, uncertain: int, warned: int, recorded: int) -> str:
    """Compare what was recorded of a call with what is expected.

    Returns: "equal"; "more in a library" where it waits more often than expected, but at least
        once was expected and torch's own code, which warns, does not; else "different".
    """
    most = expected + uncertain
    if expected <= recorded <= most:
        return "equal"
    return "more in a library" if 0 < expected < recorded and warned <= most else "different"


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


def _recorded(call: Callable[[], object], own: Counter[str]) -> Counter[str]:
    """Waits in a recording of a call, less those of an empty recording."""
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recording:
        call()
    return waits((event.name for event in recording.events()), own)


def waits(names: Iterable[str], own: Counter[str]) -> Counter[str]:
    """Count what waits among the events of a recording, by its name, less an empty one's.

    A copy into pageable memory that no call waits for after it has made its own call wait.
    """
    names = list(names)
    found = Counter(name for name in names if name in _SYNCHRONIZES or name == _FREES) - own
    reads = sum(_READS in name for name in names)
    found[_READS] = max(0, reads - sum(found[name] for name in _SYNCHRONIZES))
    return +found


def main() -> int:
    """Run the part."""
    results = Results("syncs", __doc__)
    return results.measure({"features": lambda: features(results)})


if __name__ == "__main__":
    sys.exit(main())
