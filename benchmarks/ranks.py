"""What a run of many ranks costs: traces to summaries, and summaries to the answer.

    python benchmarks/ranks.py FOLDER [--ranks 64 256 1024] [--workers 2]
    python benchmarks/ranks.py --map TRACE ...
    python benchmarks/ranks.py --reduce TRACE [--ranks 64 256 1024] [--mesh 8]

FOLDER holds one real trace for each rank of a small run. Its first trace is written again for every
further rank, so that a run of N ranks is made; a trace instead of a folder is copied N times, with
another rank in each. The traces are read by processes, as `hookview ranks` does. Prints a row for
each N: seconds, processor seconds per million events, memory of the process that reduces and of the
largest that reads, bytes of what is kept of a trace and of the answer.

--map prints what the summary of a trace costs in one process, part by part, next to that with all
columns read, to its whole report and to the floor: to inflate the file, and to walk its bytes once
(simdjson).

--reduce reduces N copies of the summary of one trace, in which each rank begins its collectives up
to 2 ms earlier, at random. With --mesh M every second collective is one of M neighbouring ranks,
the others are of ranks M apart. N ascends, as the most memory of the process counts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import pickle
import re
import resource
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from common.peers import peers_python
from common.traces import label

from tb_hookview.analysis.analysis import Analysis, analyze_trace
from tb_hookview.loading import load
from tb_hookview.ranks.answer import answer
from tb_hookview.ranks.map.summary import NEEDED, RankSummary, Spool, packed, summarize
from tb_hookview.ranks.matching import match
from tb_hookview.ranks.run import analyze_run, map_file, summarize_file
from tb_hookview.report.build import build_report
from tb_hookview.trace import Wanted, reader
from tb_hookview.trace.format.vocabulary import EVERYTHING
from tb_hookview.trace.source.file import trace_file

os.environ["HOOKVIEW_CACHE"] = "off"


HEAD = (
    "| ranks | events | wall, s | CPU s per million events | of it the reduce's process, s | "
    "memory of it, MB | of a reader, MB | summary, kB | answer, MB | late |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)
MAP_HEAD = (
    "| trace | events | inflate, s | walk, s | read, s | analysis, s | summary, s | map / floor | "
    "read all columns, s | map / floor with these | report instead of the summary, s |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)
REDUCE_HEAD = (
    "| ranks | of a group | collectives | with a straggler | CPU s | memory, MB | "
    "summary, kB | times, kB |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
)
TRIES = 5
"""Of each part the quickest counts: other work on the machine only adds."""
_FLOOR = """
import sys, time
from isal import igzip
import simdjson
packed = open(sys.argv[1], "rb").read()
for _ in range(5):
    began = time.process_time()
    text = igzip.decompress(packed)
    inflated = time.process_time()
    simdjson.Parser().parse(text)
    print(inflated - began, time.process_time() - inflated)
"""


def copy_run(trace: Path, folder: Path, ranks: int) -> int:
    """Make a run of copies of one trace; return 0, for its events are not counted.

    Only the head of each, which says the rank, is compressed again: gzip files may be joined.
    """
    text = gzip.decompress(trace.read_bytes())
    end = text.index(b'"traceEvents"')
    rest = gzip.compress(text[end:], 1)
    for rank in range(ranks):
        head = re.sub(rb'"rank": ?\d+', b'"rank": %d' % rank, text[:end])
        head = re.sub(rb'"world_size": ?\d+', b'"world_size": %d' % ranks, head)
        (folder / f"rank{rank}.1.pt.trace.json.gz").write_bytes(gzip.compress(head) + rest)
    return 0


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
    make, beside = (write_run, None) if source.is_dir() else (copy_run, source.parent)
    with tempfile.TemporaryDirectory(dir=beside) as name:
        folder = Path(name)
        events = make(source, folder, ranks)
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            got = process.submit(_analyzed, folder, workers).result()
        mapped = map_file(trace_file(next(folder.glob("rank0.*"))))
        events = events or ranks * load(source).trace.event_count
    print(
        f"| {ranks} | {events:,} | {got.wall:.1f} | {(got.own + got.others) / events * 1e6:.1f} | "
        f"{got.own:.1f} | {got.memory} | {got.memory_of_reader} | "
        f"{len(pickle.dumps(mapped)) / 1000:.0f} | {got.answer / 1e6:.2f} | {got.late} |",
        flush=True,
    )


class Analyzed(NamedTuple):
    """What the answer to a run cost: seconds, MB and bytes."""

    wall: float
    own: float
    others: float
    memory: int
    memory_of_reader: int
    answer: int
    late: str


def _analyzed(folder: Path, workers: int) -> Analyzed:
    """Analyze a run in a process that did nothing else before."""
    began, before = time.perf_counter(), _cpu()
    run = analyze_run(folder, f"processes:{workers}")
    wall, (own, others) = time.perf_counter() - began, _cpu()
    memory = [_own_memory(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024]
    late = ", ".join(f"{row.rank} {row.module}" for row in run.stragglers)
    return Analyzed(wall, own - before[0], others - before[1], *memory, len(run.to_json()), late)


def measure_reduce(trace: Path, ranks: int, mesh: int) -> None:
    """Print the row of a reduce over copies of the summary of a trace."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        mapped = process.submit(summarize_file, trace_file(trace)).result()
    random, content = np.random.default_rng(0), pickle.dumps(mapped.summary)
    times = packed(mapped.times)
    began = _cpu()[0]
    with Spool() as spool:
        for _ in range(ranks):
            spool.put(times)
        copies = (pickle.loads(content) for _ in range(ranks))
        drawn = [_drawn(copy, rank, mesh, random) for rank, copy in enumerate(copies)]
        run = answer(str(trace), drawn, match(drawn), spool.times, {})
    late = sum(row.late_rank is not None for row in run.collectives)
    print(
        f"| {ranks} | {mesh or ranks} | {len(run.collectives):,} | {late:,} | "
        f"{_cpu()[0] - began:.1f} | {_own_memory()} | "
        f"{len(content) / 1000:.0f} | {len(times) / 1000:.0f} |",
        flush=True,
    )


def _drawn(copy: RankSummary, rank: int, mesh: int, random: np.random.Generator) -> RankSummary:
    """The summary as that of a rank, which comes to its collectives at other moments."""
    calls = copy.collectives
    changed = {"start": calls.start - random.integers(0, 2_000_000, len(calls))}
    if mesh:
        names = (f"tp{rank // mesh}", f"dp{rank % mesh}")
        changed["group"] = tuple(names[place % 2] for place in range(len(calls)))
    replace = msgspec.structs.replace
    return replace(copy, rank=rank, world_size=None, collectives=replace(calls, **changed))


def _cpu() -> tuple[float, float]:
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def _own_memory() -> int:
    """MB that this process had at most; `getrusage` counts what its parent had before it, too."""
    said = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(said[1]) // 1024 if said else 0


def measure_map(trace: Path) -> None:
    """Print the row of a trace: processor seconds of each part of its summary."""
    done = subprocess.run(
        [str(peers_python()), "-c", _FLOOR, str(trace)], capture_output=True, text=True, check=True
    )
    inflate, walk = np.array([line.split() for line in done.stdout.splitlines()], float).min(axis=0)
    tries = []
    for _ in range(TRIES):
        moments = [time.process_time()]
        analysis = _analysis(trace, NEEDED, moments)
        summarize(analysis)
        moments.append(time.process_time())
        analysis = _analysis(trace, EVERYTHING, moments)
        _ = build_report(analysis, None).counted
        moments.append(time.process_time())
        tries.append(np.diff(moments))
    read, analyzed, summary, read_all, _, report = np.min(tries, axis=0)
    floor = inflate + walk
    parts = " | ".join(f"{part:.3f}" for part in (inflate, walk, read, analyzed, summary))
    print(
        f"| {label(trace)} | {analysis.trace.event_count:,} | {parts} | "
        f"{(read + analyzed + summary) / floor:.1f} | {read_all:.3f} | "
        f"{(read_all + analyzed + summary) / floor:.1f} | {report:.3f} |",
        flush=True,
    )


def _analysis(trace: Path, wanted: Wanted, moments: list[float]) -> Analysis:
    """An analysis; notes when the trace was read and when it was analyzed."""
    read = reader.read_trace(trace_file(trace), wanted=wanted)
    moments.append(time.process_time())
    made = analyze_trace(read)
    moments.append(time.process_time())
    return made


def main() -> None:
    """Measure runs of all sizes that are asked for, or single traces."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, nargs="?", help="a folder of traces, or a trace")
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--map", type=Path, nargs="+", default=[], help="traces to read alone")
    parser.add_argument("--reduce", type=Path, help="a trace whose summary is copied")
    parser.add_argument("--mesh", type=int, default=0, help="ranks of a group, by default all")
    given = parser.parse_args()
    if given.map:
        print(MAP_HEAD)
        for trace in given.map:
            measure_map(trace)
    if given.reduce:
        print(REDUCE_HEAD)
        for ranks in given.ranks:
            measure_reduce(given.reduce, ranks, given.mesh)
    if given.source:
        print(HEAD)
        for ranks in given.ranks:
            measure(given.source, ranks, given.workers)


if __name__ == "__main__":
    main()
