"""Compiles models in other processes, and what they recorded of them."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any, NamedTuple

from support.forked_python import COMPILER, run_python
from support.recording import only_trace_path

WORKER = Path(__file__).with_name("compiled_worker.py")


def run(cache: Path, *arguments: str | Path) -> dict[str, Any]:
    """Return the answer of `compiled_worker.py` to these arguments, with Inductor's cache there."""
    around = {"TORCHINDUCTOR_CACHE_DIR": str(cache)}
    done = run_python(WORKER, *arguments, imported=COMPILER, environment=around)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


OTHERS = ("swapped", "nested", "tied", "conv", "transformer", "checkpoints", "autocast")
PROCESSES: dict[str, tuple[str, ...]] = {
    "first": ("mlp",),
    "second": OTHERS,
    "third": (*reversed(OTHERS), "mlp", "mlp, wrapped first"),
}
"""Models that each of three processes compiles, which have one cache, and records a step of.

The second has to compile them, but for two that have the graph of the model of the first; the third
finds all of them in the cache.
"""
RECORDINGS = [(process, model) for process, models in PROCESSES.items() for model in models]


class Recording(NamedTuple):
    """A step of a compiled model."""

    path: Path
    hit: int
    """Graphs that Inductor had in its cache."""
    miss: int


def recording(folder: Path, process: str, model: str) -> Recording:
    """Return a recording of PROCESSES; the processes up to that one are run once for a folder."""
    place = folder / "compiled"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for each in list(PROCESSES)[: list(PROCESSES).index(process) + 1]:
            answer = place / f"{each}.json"
            if not answer.exists():
                found = run(place / "cache", "record", place / each, *PROCESSES[each])
                answer.write_text(json.dumps(found))
    counts = json.loads((place / f"{process}.json").read_text())[model]
    return Recording(only_trace_path(place / process / model), **counts)
