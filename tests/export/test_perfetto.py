"""The Perfetto trace, read back: rows, lanes, times and arguments against the trace and report."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grid
import msgspec
import numpy as np
import pytest
from shared_traces import shared_trace

import tb_hookview as hookview
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.graph import wait_links
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.trace import EventCategory

if TYPE_CHECKING:
    from conftest import Export, PerfettoFile

RECORDED = Path(__file__).resolve().parents[1] / "data" / "recorder_v1.pt.trace.json.gz"
SHARED = [
    "hta_cpu_only",
    "hta_backward_thread_tiny",
    "hta_mi250_minitoy_training",
    "hta_sampled_rank-0",
    "hta_a100_alexnet_sync_events",
    "hta_mtia_inference",
    "hta_a100_nccl_training",
    "kineto_resnet50_num_workers_0/worker0.1623143089861",
    "tracelens_b200_eager",
    "tracelens_mi210_gpu_only",
    "tracelens_mi300_vllm_graph_execution",
    "tracelens_mi300_resnet_checkpointing_ddp",
]


class Case:
    """A trace, what the analysis says of it, and the file that was read back."""

    def __init__(self, path: Path, file: PerfettoFile, steps: list[str] | None = None) -> None:
        self.analysis: Analysis = load(path)
        self.report: Report = build_report(self.analysis, steps)
        self.file = file


LARGE = (
    "hta_mtia_inference",
    "hta_a100_nccl_training",
    "kineto_resnet50_num_workers_0/worker0.1623143089861",
    "tracelens_b200_eager",
)


@pytest.fixture(
    params=[
        "recorded",
        *(name for name in SHARED if name not in LARGE),
        *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE),
    ]
)
def case(request: pytest.FixtureRequest, perfetto: Export) -> Case:
    path = RECORDED if request.param == "recorded" else shared_trace(request.param)
    return Case(path, perfetto(path))


def close(left: float | None, right: float | None) -> bool:
    return math.isclose(left or 0.0, right or 0.0, rel_tol=1e-9, abs_tol=1e-3)


def check_rows(case: Case) -> None:
    """Every row is there once, with its name and times, on its thread's track."""
    trace = case.analysis.trace
    events = trace.events
    kinds = [kind.name.lower() for kind in EventCategory]
    expected = Counter(
        (trace.threads[t].name or trace.threads[t].tid, trace.strings[n], kinds[k], s, s + d)
        for t, n, k, s, d in zip(
            events.thread.tolist(),
            events.name.tolist(),
            events.kind.tolist(),
            events.start.tolist(),
            events.duration.tolist(),
            strict=True,
        )
    )
    found = Counter(
        (case.file.lane(s.track)[1], s.name, s.category, s.start, s.end)
        for s in case.file.slices
        if not s.category.startswith("hookview.")
    )
    assert found == expected


def check_steps_and_phases(case: Case) -> None:
    steps = case.file.of("hookview.step")
    assert [s.name for s in steps] == [row.name for row in case.report.data.steps]
    times: Counter[tuple[str, str]] = Counter()
    for shown in case.file.of("hookview.phase"):
        times[shown.arguments.get("step", ""), shown.name] += shown.end - shown.start
    for shown, row in zip(steps, case.report.data.steps, strict=True):
        assert close(shown.start / 1000, row.start_us)
        assert close(shown.us, row.duration_us)
        for phase in ("forward", "backward", "optimizer", "data", "other"):
            assert close(times[row.name, phase] / 1000, getattr(row, f"{phase}_us")), phase


def check_modules(case: Case) -> None:
    calls = Counter(s.arguments["module"] for s in case.file.of("hookview.forward"))
    assert calls == Counter({m.path: m.calls for m in case.report.data.modules if m.calls})
    host: Counter[str] = Counter()
    for shown in (*case.file.of("hookview.node"), *case.file.of("hookview.recompute")):
        if "module" in shown.arguments:
            moved = shown.arguments.get("recompute_us", 0)
            host[shown.arguments["module"]] += shown.arguments["self_host_us"] - moved
    for module in case.report.data.modules:
        assert close(host[module.path], module.backward.self_host_us), module.path


def check_nodes(case: Case) -> None:
    found: dict[str, list[Any]] = defaultdict(list)
    for shown in case.file.of("hookview.node"):
        found[shown.name].append(shown)
    assert len(found) == len(case.report.data.nodes)
    for node in case.report.data.nodes:
        shown = found[node.name]
        assert len(shown) == node.count
        assert close(sum(s.arguments["self_host_us"] for s in shown), node.host_us)
        assert close(sum(s.arguments.get("device_us", 0.0) for s in shown), node.device_us)


def check_backward_nests(case: Case) -> None:
    """A node lies in a slice of its module, which lies in its parent's; annotations have none."""
    above = {m.path: m.parent for m in case.report.data.modules}
    annotations = {m.path for m in case.report.data.modules if m.module_class == "annotation"}
    inside = ("hookview.backward", "hookview.node", "hookview.recompute")
    for shown in case.file.slices:
        if shown.category in inside[:2] and "module" in shown.arguments:
            own = shown.arguments["module"]
            parent = own if shown.category == "hookview.node" else above[own]
            while parent in annotations:
                parent = above[parent]
            if parent is not None:
                around = shown.above
                assert around is not None
                assert around.category == "hookview.backward"
                assert around.arguments["module"] == parent


def check_syncs(case: Case) -> None:
    shown, rows = case.file.of("hookview.sync"), case.report.data.syncs
    assert len(shown) == len(rows)
    by_start = sorted(rows, key=lambda row: (row.start_us, -row.duration_us))
    for piece, row in zip(shown, by_start, strict=True):
        assert piece.name == row.cause
        assert close(piece.us, row.duration_us)
        for name in ("api", "step", "phase", "operator", "node", "module", "device_idle_us"):
            assert piece.arguments.get(name) == getattr(row, name)
        assert piece.arguments.get("stack", []) == row.stack


def check_idle(case: Case) -> None:
    idle: Counter[str] = Counter()
    causes: Counter[tuple[str, str]] = Counter()
    for shown in case.file.of("hookview.idle"):
        step = shown.arguments.get("step", "")
        idle[step] += shown.end - shown.start
        causes[step, shown.name] += shown.end - shown.start
    for row in case.report.data.steps:
        assert close(idle[row.name] / 1000, row.device_idle_us)
        for cause, spent in (msgspec.to_builtins(row).get("idle") or {}).items():
            assert close(causes[row.name, cause] / 1000, spent), cause


def check_arrows(case: Case) -> None:
    """Every launch, forward operator and wait found is one arrow between two rows."""
    analysis = case.analysis
    nodes = analysis.nodes
    ends: dict[int, list[Any]] = defaultdict(list)
    for shown in case.file.slices:
        for number in shown.flows:
            ends[number].append(shown)
    assert all(len(pair) == 2 for pair in ends.values())
    made = np.count_nonzero((nodes.by_sequence >= 0) | (nodes.by_flow >= 0))
    launched = np.count_nonzero(analysis.device_events.launch >= 0)
    graph = None if (simulator := Simulator(Selection(analysis, None))).refused else simulator.graph
    waits = [len(links.source) for links in wait_links(analysis, graph)]
    assert len(ends) == launched + made + sum(waits)
    for number in range(1, launched + 1):
        one, other = ends[number]
        assert one.arguments["correlation"] == other.arguments["correlation"]
        assert {one.category, other.category} & {"runtime"}
    works = {"kernel", "copy", "set"}
    for number in range(launched + made + 1, len(ends) + 1):
        assert any(shown.category in works for shown in ends[number])


def test_what_is_read_back_is_what_the_report_says(case: Case) -> None:
    check_everything(case)


def check_everything(case: Case) -> None:
    check_rows(case)
    check_steps_and_phases(case)
    check_modules(case)
    check_nodes(case)
    check_backward_nests(case)
    check_syncs(case)
    check_idle(case)
    check_arrows(case)


@pytest.mark.slow
def test_a_fresh_recording_with_checkpoints(tmp_path: Path, perfetto: Export) -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
    from torch.utils.checkpoint import checkpoint

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.inner = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, batch: Any) -> Any:
            return checkpoint(self.inner, self.first(batch).relu(), use_reentrant=False)

    net = hookview.wrap(Net())
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=2)
    with hookview.profile(tmp_path / "run", schedule=schedule) as profiler:
        for _ in range(3):
            net(torch.rand(2, 4, requires_grad=True)).sum().backward()
            profiler.step()
    (path,) = (tmp_path / "run").iterdir()
    case = Case(path, perfetto(path))
    check_everything(case)
    of_module: dict[str | None, set[str]] = defaultdict(set)
    for shown in case.file.of("hookview.node"):
        of_module[shown.arguments.get("module")].add(shown.name)
        assert ("module" in shown.arguments) != ("no_module" in shown.arguments)
    assert "AddmmBackward0" in of_module["first"] & of_module["inner"]
    again = case.file.of("hookview.recompute")
    assert [(s.name, s.arguments["module"]) for s in again] == [("inner again", "inner")] * 2
    assert len(case.file.of("hookview.step")) == 2


@pytest.mark.parametrize("bare", [False, True])
def test_one_step_alone(perfetto: Export, bare: bool) -> None:
    path = shared_trace("kineto_resnet50_num_workers_0/worker0.1623143089861")
    step = load(path).steps.name[1]
    asked = [step.rpartition("#")[2] if bare else step]
    case = Case(path, perfetto(path, steps=asked), asked)
    check_steps_and_phases(case)
    check_modules(case)
    check_nodes(case)
    check_syncs(case)
    check_idle(case)
    (window,) = case.file.of("hookview.step")
    hosted = [s for s in case.file.slices if s.category == "operator"]
    assert hosted
    assert all(window.start <= s.start <= window.end for s in hosted)


def picture(tmp_path: Path, text: str, names: dict[str, str] | None = None, **root: Any) -> Path:
    return grid.write(tmp_path / "picture.json", grid.events(text, names), **root)


def test_rows_that_cross_go_beside_and_keep_what_lies_in_them(
    tmp_path: Path, perfetto: Export
) -> None:
    path = picture(
        tmp_path,
        """
        main ops   [a             ]     [e  ]
        main ops      [b             ]
        main ops       [c  ]    [d  ]
        """,
    )
    file = perfetto(path)
    rows = {s.name: s for s in file.of("operator")}
    lanes = {name: file.lane(shown.track)[1:] for name, shown in rows.items()}
    crossing = ("main", "main, rows that cross others")
    assert lanes == {"a": ("main",), "b": crossing, "c": crossing, "d": crossing, "e": ("main",)}
    assert rows["c"].above is rows["d"].above is rows["b"]


def test_rows_that_touch_share_a_track(tmp_path: Path, perfetto: Export) -> None:
    file = perfetto(picture(tmp_path, "main ops [a  ][b  ]"))
    lanes = {s.name: file.lane(s.track)[1:] for s in file.of("operator")}
    assert lanes == {"a": ("main",), "b": ("main",)}


def test_of_two_open_rows_that_began_together_the_shorter_holds_what_follows(
    tmp_path: Path, perfetto: Export
) -> None:
    path = picture(
        tmp_path,
        """
        main ops   [a                ]
        main ops   [b           ]
        main ops     [c ]
        main ops           [d              ]
        """,
    )
    rows = {s.name: s for s in perfetto(path).of("operator")}
    assert rows["a"].track != rows["b"].track
    assert rows["c"].above is rows["b"]


def test_backward_is_wrapped_into_modules(tmp_path: Path, perfetto: Export) -> None:
    """Consecutive nodes of one module are one slice; a forward ends them all."""
    names = {
        "o": "[pl][module]Net: net",
        "p": "[pl][module]Linear: net.a",
        "q": "[pl][module]Linear: net.b",
        "N": "autograd::engine::evaluate_function: MmBackward0",
    }
    path = picture(
        tmp_path,
        """
        main     notes [o                  ]                            [o         ]
        main     notes [p        ][q       ]                            [p        ]
        main     ops   [x seq=1 ] [y seq=2]                             [v seq=3]
        autograd ops                        [N seq=2 F=1] [N seq=1 F=1]             [N seq=3 F=1]
        """,
        names,
    )
    file = perfetto(path)
    shown = [(s.name, s.start, s.end) for s in file.of("hookview.backward")]
    first, second, third = file.of("hookview.node")
    assert [s.arguments["module"] for s in (first, second, third)] == ["net.b", "net.a", "net.a"]
    assert shown == [
        ("net", first.start, second.end),
        ("net.b", first.start, first.end),
        ("net.a", second.start, second.end),
        ("net", third.start, third.end),
        ("net.a", third.start, third.end),
    ]
    assert {file.lane(s.track) for s in file.of("hookview.backward")} == {
        ("HOOKVIEW", "modules, backward", "autograd")
    }


def test_names_are_text_and_nothing_else(tmp_path: Path, perfetto: Export) -> None:
    odd = '<img src=x onerror="alert(1)">\n\x1b[31m\x00 é漢 ../../etc'
    path = picture(tmp_path, "main ops [a  ]", {"a": odd})
    assert [s.name for s in perfetto(path).of("operator")] == [odd]


def test_times_before_zero_are_moved(tmp_path: Path, perfetto: Export) -> None:
    rows = grid.events("main ops [a  ]   [b ]")
    first = rows[0]["ts"]
    for row in rows:
        row["ts"] -= first + 5
    shown = perfetto(grid.write(tmp_path / "early.json", rows)).of("operator")
    assert [(s.start, s.us) for s in shown] == [(0, 5.0), (8000, 4.0)]


def test_a_trace_without_events(tmp_path: Path, perfetto: Export) -> None:
    file = perfetto(grid.write(tmp_path / "none.json", []))
    assert not [s for s in file.slices if not s.category.startswith("hookview.")]


def test_progress_and_size_of_what_is_held(perfetto: Export) -> None:
    path = shared_trace("hta_a100_nccl_training")
    stages: list[tuple[str, float | None]] = []
    file = perfetto(path, progress=lambda stage, done: stages.append((stage, done)))
    shares = [done for stage, done in stages if stage == "writing"]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) > 20
    assert file.slices
