"""What a run of many ranks costs: traces to summaries, and summaries to the answer.

    python benchmarks/ranks.py FOLDER [--ranks 64 256 1024] [--workers 2]

FOLDER holds one real trace for each rank of a small run. Its first trace is written again for every
further rank, so that a run of N ranks is made; the traces are read by processes, as `hookview
ranks` does. Prints a row for each N: seconds, processor seconds per million events, memory of the
process that reduces, bytes of a summary and of the answer.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import pickle
import resource
import tempfile
import time
from pathlib import Path

from tb_hookview.ranks.run import analyze_run, summarize_file

os.environ["HOOKVIEW_CACHE"] = "off"


def write_run(source: Path, folder: Path, ranks: int) -> int:
    """Write the traces of a run of some ranks; return the number of their events."""
    traces = sorted(source.glob("*.pt.trace.json*"))
    events = 0
    texts = [_opened(path) for path in traces[:ranks]]
    for rank in range(ranks):
        trace = texts[rank] if rank < len(texts) else texts[0]
        info = {**trace.get("distributedInfo", {}), "rank": rank, "world_size": ranks}
        data = json.dumps({**trace, "distributedInfo": info}).encode()
        (folder / f"rank{rank}.1.pt.trace.json.gz").write_bytes(gzip.compress(data, 1))
        events += len(trace["traceEvents"])
    return events


def _opened(path: Path) -> dict:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def measure(source: Path, ranks: int, workers: int) -> None:
    """Print the row of a run of some ranks."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events = write_run(source, folder, ranks)
        summary = summarize_file(str(next(folder.glob("rank0.*"))))
        began, before = time.perf_counter(), _cpu()
        run = analyze_run(folder, f"processes:{workers}")
        wall, (own, children) = time.perf_counter() - began, _cpu()
    cpu = own - before[0] + children - before[1]
    print(
        f"| {ranks} | {events:,} | {wall:.1f} | {cpu / events * 1e6:.1f} | "
        f"{own - before[0]:.1f} | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} | "
        f"{len(pickle.dumps(summary)) / 1000:.0f} | {len(run.to_json()) / 1e6:.2f} | "
        f"{', '.join(f'{row.rank} {row.module}' for row in run.stragglers)} |",
        flush=True,
    )


def _cpu() -> tuple[float, float]:
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def main() -> None:
    """Measure runs of all sizes that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    print(
        "| ranks | events | wall, s | CPU s per million events | of it the reduce's process, s | "
        "memory of it, MB | summary, kB | answer, MB | late |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    for ranks in given.ranks:
        measure(given.folder, ranks, given.workers)


if __name__ == "__main__":
    main()
