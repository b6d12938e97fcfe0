"""One contender on one trace file, in a process of its own: `python -I contender.py NAME FILE`.

Imports first, then times only the way from the file to the result, and prints one line of JSON:
`seconds`, `rss_before` and `rss_peak` (bytes), `versions`, `facts`; or `fails` with the reason.
Runs under the Python of the project or of the peers, so it needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

Work = Callable[[], Any]
"""What is timed: takes nothing, returns the result."""


def hookview(path: str) -> Work:
    """The complete report as JSON."""
    from tb_hookview.analysis import analyze

    return lambda: analyze(path).to_json()


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
        data = file.read_bytes()
        return parser.parse(igzip.decompress(data) if path.endswith(".gz") else data)

    return work


def stages(path: str) -> Work:
    """The way to our report, with the seconds spent in each stage."""
    from tb_hookview.analysis import build_report, load

    marks: list[tuple[str, float]] = []

    def say(stage: str, _fraction: float | None) -> None:
        marks.append((stage, time.perf_counter()))

    def work() -> dict[str, float]:
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
        return spent

    return work


CONTENDERS: dict[str, tuple[Callable[[str], Work], tuple[str, ...]]] = {
    "hookview": (hookview, ("tb-hookview", "msgspec", "isal", "numpy")),
    "json.loads": (json_loads, ()),
    "hta": (hta, ("HolisticTraceAnalysis", "pandas", "numpy")),
    "torch_tb_profiler": (torch_tb_profiler, ("torch-tb-profiler",)),
    "floor": (floor, ("isal", "pysimdjson")),
    "stages": (stages, ()),
}
"""Name -> what makes the work ready, and the distributions whose versions are worth telling."""


def _facts(name: str, result: Any) -> dict[str, Any]:
    """What the result tells about the file, or about the work itself."""
    if name == "json.loads":
        return {
            "events": len(result.get("traceEvents", ()) if isinstance(result, dict) else result)
        }
    return {"stages": result} if name == "stages" else {}


def _rss() -> int:
    """Resident bytes now; where there is no /proc, the most there have been so far."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return _peak_rss()
    return int(statm.read_text().split()[1]) * resource.getpagesize()


def _peak_rss() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(name: str, path: str) -> dict[str, Any]:
    """Run a contender once."""
    prepare, distributions = CONTENDERS[name]
    work = prepare(path)
    before = _rss()
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "rss_before": before,
        "rss_peak": _peak_rss(),
        "versions": {each: version(each) for each in distributions},
        "facts": _facts(name, result),
    }


def main() -> None:
    """Print what `measure` found, or why it found nothing."""
    name, path = sys.argv[1:]
    try:
        found = measure(name, path)
    except Exception as error:  # noqa: BLE001  # whatever a contender raises is its result here
        found = {"fails": f"{type(error).__name__}: {error}".replace(path, Path(path).name)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
