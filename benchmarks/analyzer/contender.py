"""One contender on one trace file, in a process of its own: `python -I contender.py NAME FILE`.

Imports first, then times only the way from the file to the result, and prints one line of JSON:
`seconds` on the wall, `cpu` (seconds of all threads and child processes), `imports` (seconds),
`rss_before` and `rss_peak` (bytes), `versions`, `installed` (bytes on disk), `facts`; or `fails`
with the reason.
Runs under the Python of the project or of the peers, so it needs the standard library alone.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import files, version
from itertools import pairwise
from pathlib import Path
from typing import Any

Work = Callable[[], Any]
"""What is timed: takes nothing, returns the result."""

Contenders = dict[str, tuple[Callable[[str], Work], tuple[str, ...]]]
"""Name -> what makes the work ready, and the distributions whose versions are worth telling."""


def import_all(*packages: str) -> None:
    """Import the modules of packages that would load them only as they are used, in the work."""
    for name in packages:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)


_OURS = tuple(f"tb_hookview.{part}" for part in ("trace", "analysis", "rules", "report", "loading"))
"""Parts that the way from a file to a report leads through."""


class Rows(int):
    """Result of a work of which only the number of rows is worth telling."""


def hookview(path: str) -> Work:
    """The complete report as JSON; as in `analyze`, other processes start before imports."""
    from tb_hookview.loading import CachedReader
    from tb_hookview.trace import trace_file

    reader, file = CachedReader.from_environment(), trace_file(path)
    reader.prepare(file)
    import_all(*_OURS)
    return lambda: reader.open(file).report().to_json()


def json_loads(path: str) -> Work:
    """The file's content as dicts, by the standard library."""
    import gzip

    opened = gzip.open if path.endswith(".gz") else open

    def work() -> Any:
        with opened(path, "rb") as file:
            return json.loads(file.read())

    return work


def hta(path: str) -> Work:
    """HolisticTraceAnalysis' ordinary entry: its constructor parses, links and aligns."""
    from hta.trace_analysis import TraceAnalysis

    return lambda: TraceAnalysis(trace_files={0: path})


def torch_tb_profiler(path: str) -> Work:
    """What the loader of torch_tb_profiler does for a file, short of making its charts."""
    from torch_tb_profiler.profiler.data import RunProfileData

    cache = tempfile.mkdtemp(dir=os.environ["CONTENDER_SCRATCH"])
    return lambda: RunProfileData.parse("worker", None, path, cache)


def floor(path: str) -> Work:
    """Inflate, and let simdjson walk the bytes once."""
    import simdjson
    from isal import igzip

    parser = simdjson.Parser()
    file = Path(path)

    def work() -> Any:
        start = time.perf_counter()
        data = file.read_bytes()
        text = igzip.decompress(data) if path.endswith(".gz") else data
        inflated = time.perf_counter()
        # The document stays until the end, as a result does.
        document = parser.parse(text)
        return document, {"inflate": inflated - start, "walk": time.perf_counter() - inflated}

    return work


def stages(path: str) -> Work:
    """The way to our report, with the seconds spent in each stage."""
    from tb_hookview.loading import load
    from tb_hookview.report.build import build_report

    import_all(*_OURS)
    marks: list[tuple[str, float]] = []

    def say(stage: str, _fraction: float | None) -> None:
        marks.append((stage, time.perf_counter()))

    def work() -> tuple[dict[str, float], int]:
        marks.clear()
        analysis = load(path, say)
        say("report", None)
        report = build_report(analysis)
        say("to JSON", None)
        report.to_json()
        say("end", None)
        spent: dict[str, float] = {}
        for (stage, start), (_, end) in pairwise(marks):
            spent[stage] = spent.get(stage, 0.0) + end - start
        return spent, analysis.trace.event_count

    return work


CONTENDERS: Contenders = {
    "hookview": (hookview, ("tb-hookview", "msgspec", "isal", "numpy")),
    "json.loads": (json_loads, ()),
    "hta": (hta, ("HolisticTraceAnalysis", "pandas", "numpy")),
    "torch_tb_profiler": (torch_tb_profiler, ("torch-tb-profiler",)),
    "floor": (floor, ("isal", "pysimdjson")),
    "stages": (stages, ()),
}


def _facts(name: str, result: Any) -> dict[str, Any]:
    """What the result tells about the file, or about the work itself."""
    if name == "json.loads":
        return {
            "events": len(result.get("traceEvents", ()) if isinstance(result, dict) else result)
        }
    if isinstance(result, Rows):
        return {"rows": int(result)}
    if name == "stages":
        return {"stages": result[0], "events": result[1]}
    return {"floor": result[1]} if name == "floor" else {}


def _rss() -> int:
    """Resident bytes now; where there is no /proc, the most there have been so far."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return _peak_rss()
    return int(statm.read_text().split()[1]) * resource.getpagesize()


def _peak_rss() -> int:
    """Most resident bytes so far, with those of the largest child process, shared ones twice."""
    unit = 1 if sys.platform == "darwin" else 1024
    status = Path("/proc/self/status")
    told = re.search(r"VmHWM:\s*(\d+)", status.read_text()) if status.exists() else None
    # What the system tells of a process at its end begins with the size of its parent; this not.
    own = int(told[1]) if told else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * unit


def _installed(distribution: str) -> int:
    paths = [Path(str(file.locate())) for file in files(distribution) or ()]
    return sum(path.stat().st_size for path in paths if path.exists())


def _cpu() -> float:
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def measure(name: str, path: str, contenders: Contenders) -> dict[str, Any]:
    """Run a contender once."""
    prepare, distributions = contenders[name]
    start = time.perf_counter()
    work = prepare(path)
    imports = time.perf_counter() - start
    before = _rss()
    start, cpu = time.perf_counter(), _cpu()
    result = work()
    seconds, cpu = time.perf_counter() - start, _cpu() - cpu
    return {
        "seconds": seconds,
        "cpu": cpu,
        "imports": imports,
        "rss_before": before,
        "rss_peak": _peak_rss(),
        "versions": {each: version(each) for each in distributions},
        "installed": sum(map(_installed, distributions)),
        "facts": _facts(name, result),
    }


def main(contenders: Contenders) -> None:
    """Print what `measure` found, or why it found nothing."""
    name, path = sys.argv[1:]
    try:
        found = measure(name, path, contenders)
    except Exception as error:  # noqa: BLE001  # whatever a contender raises is its result here
        found = {"fails": f"{type(error).__name__}: {error}".replace(path, Path(path).name)}
    print(json.dumps(found))


if __name__ == "__main__":
    main(CONTENDERS)
