"""Shares of compiled kernels sum to what was split, to the nanosecond, on random timelines."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import grid
import numpy as np
from analysis.compiled.drawn import MODULES, NAMES, call, graph
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_hookview import markers
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.module.detail import module_detail
from tb_hookview.schema import ReportData

PARTS = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(0, 10**6), st.integers(0, 1)),
    max_size=3,
    unique_by=lambda part: part[0],
)
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["extern_kernels.mm", "triton_poi_fused_add_0", "triton_red_fused_sum_1"]),
        PARTS,
        st.integers(0, 900),  # nanoseconds in front of the row
        st.integers(1_000, 99_999),  # its length
        st.lists(st.integers(1, 77_777), max_size=2),  # lengths of its kernels
    ),
    min_size=1,
    max_size=6,
)


class Drawing:
    """Events with times in nanoseconds, one after the other."""

    def __init__(self, *, devices: bool) -> None:
        self.events: list[dict[str, Any]] = []
        self.kernels = 0
        self.now = self.free = 1_000_000
        self._devices = devices

    def add(self, category: str, name: str, since: int, until: int, **more: Any) -> None:
        args = more.pop("args", {})
        times = {"ts": since / 1000, "dur": (until - since) / 1000}
        at = {"pid": 77, "tid": "main", **more}
        name = NAMES.get(name, name)
        self.events.append({"ph": "X", "cat": category, "name": name, **at, **times, "args": args})

    def row(self, name: str, length: int, kernels: list[int], thread: str) -> None:
        since, until = self.now, self.now + length
        row = name.replace("extern_kernels.", "aten::")
        self.add("cpu_op", row, since, until, tid=thread)
        for place, kernel in enumerate(kernels if self._devices else []):
            self.kernels += 1
            correlation = {"correlation": self.kernels}
            start = since + 100 + 200 * place
            self.add(
                "cuda_runtime", "cudaLaunchKernel", start, start + 100, tid=thread, args=correlation
            )
            self.free = max(self.free, start)
            self.add(
                "kernel", f"k{place}", self.free, self.free + kernel, pid=0, tid=7, args=correlation
            )
            self.free += kernel
        self.now = until

    def graph(self, name: str, around: str, calls: list[Any], thread: str, **args: int) -> None:
        since = self.now
        for row, _, gap, length, kernels in calls:
            self.now += gap
            if row.startswith("extern") or self._devices:
                self.row(row, length, kernels, thread)
        self.now += 500
        self.add("user_annotation", name, since, self.now, tid=thread)
        wanted = {"seq": "Sequence number", "F": "Fwd thread id"}
        named = {wanted[key]: value for key, value in args.items()}
        self.add("cpu_op", around, since - 300, self.now + 300, tid=thread, args=named)


def drawn(folder: Path, forward: list[Any], backward: list[Any], *, devices: bool) -> Analysis:
    drawing = Drawing(devices=devices)
    drawing.graph("fw", "CompiledFunction", forward, "main", seq=4)
    since, until = 1_000_000 - 400, drawing.now + 400
    drawing.add("cpu_op", "region", since, until)
    drawing.add("user_annotation", "root", since - 100, until + 100)
    drawing.now += 5_000
    drawing.graph("bw", "call'", backward, "auto", seq=4, F=1)
    graphs = [
        graph(*(call(name, *parts) for name, parts, *_ in calls), **more)
        for calls, more in [(forward, {}), (backward, {"key": "fbw", "backward": True})]
    ]
    listed = [{"path": path, "class": name} for path, name in MODULES]
    roots = {
        markers.MANIFEST_KEY: {"version": 1, "roots": [""], "modules": listed},
        markers.COMPILED_KEY: {"version": 1, "graphs": graphs, "missing": []},
    }
    return load(grid.write(folder / "t.json", drawing.events, **roots))


@settings(max_examples=60, deadline=None)
@given(forward=CALLS, backward=CALLS, devices=st.booleans())
def test_shares_sum_to_the_whole(forward: list[Any], backward: list[Any], devices: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        analysis = drawn(Path(folder), forward, backward, devices=devices)
    data = build_report(analysis).data
    assert data.compiled is not None
    assert data.compiled.placed == data.compiled.calls == 2
    events, parts = analysis.device_events, analysis.device_parts
    assert sums(parts.index, parts.time, len(events)) == events.duration.tolist()
    parts = analysis.node_parts
    assert sums(parts.index, parts.time, len(analysis.nodes)) == analysis.nodes.self_host.tolist()
    assert (parts.time >= 0).all()
    assert_sums_of_modules(analysis, data)


def sums(index: Any, time: Any, size: int) -> list[int]:
    total = np.zeros(size, np.int64)
    np.add.at(total, index, time)
    found: list[int] = total.tolist()
    return found


def assert_sums_of_modules(analysis: Analysis, data: ReportData) -> None:
    def total(direction: str, field: str) -> int:
        rows = [getattr(getattr(row, direction), field) for row in data.modules]
        return sum(nanoseconds(us or 0) for us in rows)

    coverage = data.coverage
    lost = nanoseconds(coverage.unattributed_host_us)
    assert total("backward", "self_host_us") + lost == nanoseconds(coverage.backward_host_us)
    root = analysis.host.named(lambda text: text == NAMES["root"])
    assert total("forward", "self_host_us") == analysis.call_tree.duration[root].sum()
    if analysis.launches_known and coverage.backward_device_us is not None:
        lost = nanoseconds(coverage.unattributed_us or 0)
        device = total("backward", "self_device_us")
        assert device + lost == nanoseconds(coverage.backward_device_us)
        assert total("forward", "self_device_us") == nanoseconds(data.totals.forward_device_us or 0)
    evidence: Counter[str] = Counter()
    for row in data.modules:
        parts = module_detail(analysis, row.path).backward_by_evidence
        evidence.update({name: nanoseconds(us) for name, us in parts.items()})
    assert evidence == {name: nanoseconds(us) for name, us in coverage.by_evidence.items()}


def nanoseconds(us: float) -> int:
    """Every figure is a whole number of these, so no rounding is forgiven."""
    assert abs(us * 1000 - round(us * 1000)) < 1e-6
    return round(us * 1000)
