"""Questions of all sorts to a server of its own, for a while: does it hold, and what does it take?

    python benchmarks/soak.py --minutes 3

Loopback only. Prints the server's memory, threads and open files as it goes on; ends with 1 where a
question failed that should not have, or where memory kept growing.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import psutil

HERE = Path(__file__).resolve()
SHARED = HERE.parents[2] / "shared" / "traces"
RECORDED = HERE.parents[1] / "tests" / "data" / "recorder_v1.pt.trace.json.gz"
LARGEST = 1 << 20
"""Bytes of a trace file that is asked about: many of them rather than large ones."""
MAY_GROW = 1.15
"""How much memory may be more behind the second half than it was behind the first."""
HOSTILE = ("../outside", "a\0b", "x" * 10_000, "%2e%2e", "")


def make_logdir(folder: Path, copies: int) -> Path:
    """Runs of one trace each: all small ones there are, several times, and a bad one."""
    logdir = folder / "logs"
    sources = [path for path in SHARED.rglob("*.json*") if path.stat().st_size < LARGEST]
    for copy in range(copies):
        for number, source in enumerate(sources or [RECORDED]):
            run = logdir / f"run{number}_{copy}"
            run.mkdir(parents=True)
            shutil.copyfile(source, run / f"rank0.1.pt.trace{''.join(source.suffixes[-2:])}")
    (logdir / "broken").mkdir()
    (logdir / "broken" / "rank0.1.pt.trace.json").write_bytes(b"%PDF-1.7")
    return logdir


@contextmanager
def serving(logdir: Path) -> Iterator[tuple[str, psutil.Process]]:
    """A `hookview serve` of its own process: its address, and the process."""
    command = [sys.executable, "-m", "tb_hookview.cli", "serve", str(logdir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        found = re.search(r"http://[\d.]+:\d+/", server.stdout.readline())
        assert found, "the server did not start"
        try:
            yield found[0], psutil.Process(server.pid)
        finally:
            server.terminate()


class Asking:
    """One client: draws questions, asks them, counts the answers."""

    def __init__(self, url: str, seed: int) -> None:
        self.url, self.random = url, random.Random(seed)
        self.statuses: Counter[int] = Counter()
        self.faults: list[str] = []
        self.runs = [run["name"] for run in self.get("api/runs")["runs"]]

    def get(self, route: str, /, **query: Any) -> Any:
        """The answer as JSON, None for an error and for what is no JSON."""
        question = f"{route}?{urlencode(query, doseq=True)}"
        try:
            with urlopen(self.url + question, timeout=300) as answer:
                body, self.statuses[200] = answer.read(), self.statuses[200] + 1
                return json.loads(body) if "json" in answer.headers["Content-Type"] else None
        except HTTPError as error:
            self.statuses[error.code] += 1
            if error.code >= 500:
                self.faults.append(f"{error.code} {question[:200]}")
        return None

    def ask_about_one(self) -> None:
        """A visit: what the page asks when somebody looks at a trace, and some nonsense."""
        draw = self.random
        named = {"run": draw.choice(self.runs), "worker": "rank0"}
        report, timeline = self.get("api/report", **named), self.get("api/timeline", **named)
        if report and timeline:
            self._look_around(named, report, timeline)
        other = {"other_run": draw.choice(self.runs), "other_worker": "rank0"}
        self.get("api/compare", **named, **other)
        for path in ("api/progress", "api/rules", "api/runs", "index.html", "index.js"):
            self.get(path, **named)
        name = draw.choice(["run", "worker", "trace", "step", "path", "lanes", "id"])
        route = draw.choice(["report", "module", "timeline/window", "timeline/event"])
        self.get(f"api/{route}", **{**named, name: draw.choice(HOSTILE)})
        self.get(f"assets/{draw.choice(['..%2f..%2fpyproject.toml', '%00', 'none.js'])}")

    def _look_around(self, named: dict[str, str], report: Any, timeline: Any) -> None:
        paths = [module["path"] for module in report["modules"]]
        if paths:
            self.get("api/module", **named, path=self.random.choice(paths))
            some = {"path": paths[:20], "measure": "backward_host_us"}
            self.get("api/module/bars", **named, **some)
        self.get("api/module/search", **named, q="a")
        start = self.random.uniform(-1, timeline["duration_us"])
        window = {"start": start, "end": start + self.random.uniform(1, 1e5)}
        drawn = self.get("api/timeline/window", **named, **window, width=800)
        events = [event for lane in drawn["lanes"] for event in lane["event"] if event >= 0]
        for event in self.random.sample(events, min(len(events), 3)):
            self.get("api/timeline/event", **named, id=event)
        self.get("api/timeline/search", **named, q=self.random.choice("aeiou"))
        self.get("api/timeline/statistics", **named, **window)


def told(process: psutil.Process, since: float, clients: list[Asking]) -> int:
    """Print where the server is; return its memory in bytes."""
    memory: int = process.memory_info().rss
    asked = sum(client.statuses.total() for client in clients)
    print(
        f"{time.monotonic() - since:5.0f} s {asked:8} questions  {memory / 1e6:7.1f} MB "
        f"{process.num_threads():4} threads {process.num_fds():4} files",
        flush=True,
    )
    return memory


def soak(url: str, process: psutil.Process, clients: int, minutes: float) -> int:
    """Ask for that long; 0 where all went well."""
    began, ends = time.monotonic(), time.monotonic() + 60 * minutes
    asking = [Asking(url, seed) for seed in range(clients)]
    memory, stop = [told(process, began, asking)], threading.Event()

    def visit(client: Asking) -> None:
        while not stop.is_set():
            client.ask_about_one()

    with ThreadPoolExecutor(clients) as pool:
        visits = [pool.submit(visit, client) for client in asking]
        try:
            while time.monotonic() < ends and not any(done.done() for done in visits):
                time.sleep(min(15.0, max(ends - time.monotonic(), 0.1)))
                memory.append(told(process, began, asking))
        finally:
            stop.set()
        for done in visits:
            done.result()
    memory.append(told(process, began, asking))
    statuses = sum((client.statuses for client in asking), Counter[int]())
    faults = [fault for client in asking for fault in client.faults]
    half = max(memory[: len(memory) // 2 + 1])
    print("answers by status:", dict(sorted(statuses.items())))
    before, most, after = (size / 1e6 for size in (memory[0], half, memory[-1]))
    print(f"memory: {before:.1f} MB before, {most:.1f} MB in the first half, {after:.1f} MB after")
    print("faults:", *(faults or ["none"]), sep="\n  ")
    return 1 if faults or memory[-1] > MAY_GROW * half else 0


def main() -> int:
    """Serve, ask, tell."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=3.0)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--copies", type=int, default=3, help="of each small trace")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logdir = make_logdir(Path(folder), chosen.copies)
        with serving(logdir) as (url, process):
            return soak(url, process, chosen.clients, chosen.minutes)


if __name__ == "__main__":
    sys.exit(main())
