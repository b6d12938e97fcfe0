"""How reading one file scales with processes, and what bounds it.

    python benchmarks/sharing.py [FILES...] [--repeats N] [--quick]
        [--write benchmarks/results/performance.md]

Prints Markdown, and with --write puts it between the markers of that file. Each process inflates
and cuts all of the text before the end of its share; that fraction of the time cannot be shared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from common import child, page
from common.markdown import table
from common.traces import json_bytes, label, large_traces

_PROGRAM = "sharing"
_FILES = 4
_PROCESSES = (1, 2, 4, 8, 16)


def once(processes: int, path: str) -> dict[str, float]:
    """Read a file with a number of processes; 0 only inflates and cuts it."""
    from tb_hookview.trace import read_trace, trace_file
    from tb_hookview.trace.text.pieces import Share, cut
    from tb_hookview.workers.pool import Workers

    workers = Workers(processes - 1, "tb_hookview.trace.reader") if processes > 1 else None
    if workers:
        workers.prepare(processes - 1)
        while workers.ready_in()[-1] > 0:
            time.sleep(0.01)
    start, cpu = time.perf_counter(), _cpu()
    if processes:
        read_trace(path, workers=workers)
    else:
        for _ in cut(trace_file(path), share=Share(1 << 40)):
            pass
    seconds = time.perf_counter() - start
    if workers:
        workers.shutdown()
    return {"seconds": seconds, "cpu": _cpu() - cpu}


def _cpu() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _measured(path: Path, processes: Sequence[int], repeats: int) -> dict[int, dict[str, float]]:
    runs: dict[int, list[dict[str, Any]]] = {each: [] for each in processes}
    for _ in range(repeats):
        for each in processes:
            found = child.run([sys.executable, __file__, "--once", str(each), path])
            if "fails" in found:
                raise SystemExit(f"sharing.py: {path.name}: {found['fails']}")
            runs[each].append(found)
    return {
        each: {name: median(run[name] for run in of) for name in ("seconds", "cpu")}
        for each, of in runs.items()
    }


def _row(path: Path, found: dict[int, dict[str, float]], processes: Sequence[int]) -> list[str]:
    alone = found[1]
    fraction = found[0]["cpu"] / alone["cpu"]
    others = [each for each in processes if each > 1]
    return [
        label(path),
        f"{json_bytes(path) / 1e6:,.0f}",
        f"{alone['seconds']:.3g}",
        *(f"{alone['seconds'] / found[each]['seconds']:.2f}x" for each in others),
        *(f"{found[each]['cpu'] / alone['cpu']:.2f}x" for each in others),
        f"{fraction:.3f}",
        *(f"{1 / (fraction + (1 - fraction) / n):.1f}x" for n in _PROCESSES[1:]),
        *(f"{(1 - (1 - fraction) ** n) / fraction:.1f}x" for n in _PROCESSES[-2:]),
        f"{1 / fraction:.0f}x",
    ]


def _head(processes: Sequence[int]) -> list[str]:
    others = [each for each in processes if each > 1]
    return [
        *("trace", "JSON, MB", "1 process, s"),
        *(f"{each} processes" for each in others),
        *(f"CPU of {each}" for each in others),
        "f",
        *(f"equal shares, {n}" for n in _PROCESSES[1:]),
        *(f"our shares, {n}" for n in _PROCESSES[-2:]),
        "any number",
    ]


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = page.arguments_of(__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="traces; the largest by default")
    parser.add_argument("--repeats", type=page.positive, default=5, help="runs of each (5)")
    parser.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    arguments = page.parsed(parser, _PROGRAM, argv)
    if arguments.once:
        processes, path = arguments.once
        print(json.dumps(once(int(processes), path)))
        return 0
    files = arguments.files or large_traces()[-_FILES:]
    if arguments.quick:
        files, arguments.repeats = files[-1:], 1
    load, cores = page.load_now(), len(os.sched_getaffinity(0))
    processes = [each for each in _PROCESSES if each <= cores]
    rows = [
        _row(path, _measured(path, [0, *processes], arguments.repeats), processes) for path in files
    ]
    parts = [
        page.measured_on(_PROGRAM, argv, load),
        "Measured against one process, then bounds by f, the fraction of the CPU seconds of one "
        "process that inflating and cutting take.",
        table(_head(processes), rows),
    ]
    page.publish(_PROGRAM, parts, [], arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
