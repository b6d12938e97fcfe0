"""Malformed and odd traces: a report, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grid
import pytest

from tb_hookview import markers
from tb_hookview.errors import TraceError
from tb_hookview.loading import analyze
from tb_hookview.schema import ReportData

EVALUATE = "autograd::engine::evaluate_function: "


def event(
    name: str, ts: Any, dur: Any, cat: str = "cpu_op", tid: Any = 1, **args: Any
) -> dict[str, Any]:
    return {
        "ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args
    }  # fmt: skip


def report(folder: Path, *events: dict[str, Any], **root: Any) -> ReportData:
    made = analyze(grid.write(folder / "t.json", list(events), **root))
    json.loads(made.to_json())
    return made.data


def forward(path: str) -> str:
    return markers.encode("forward", path, "Linear")


def host(data: ReportData, path: str) -> float | None:
    (found,) = [m for m in data.modules if m.path == path]
    return found.backward.self_host_us


def test_device_rows_alone(tmp_path: Path) -> None:
    """No phase is known, so no device time of a phase is."""
    kernel = event("k", 5, 7, "kernel", correlation=3, device=0)
    data = report(tmp_path, kernel)
    assert data.totals.device_busy_us == {"0": 7.0}
    assert data.totals.backward_device_us is None
    assert data.coverage.unattributed_us is None


def test_no_events(tmp_path: Path) -> None:
    assert report(tmp_path).trace.warnings[-1].code == "empty"


@pytest.mark.parametrize(
    "rows",
    [
        [("A_0", 1, 100), ("B_0", 10, 50), ("A_0", 20, 20)],
        [("A_0", 1, 50), ("B_0", 10, 20), ("B_0", 101, 50), ("A_0", 110, 20)],
        [("A_0", 1, 90), ("A_0", 10, 50), ("A_0", 20, 20)],
    ],
)
def test_modules_that_run_inside_each_other(
    tmp_path: Path, rows: list[tuple[str, int, int]]
) -> None:
    calls = [event(f"nn.Module: {name}", ts, dur, "python_function") for name, ts, dur in rows]
    data = report(tmp_path, *calls)
    assert {m.path for m in data.modules} == {name for name, _, _ in rows}
    assert data.modules[0].path == "A_0"
    assert sum(m.calls for m in data.modules) == len(rows)


@pytest.mark.parametrize("ts", [1e300, 1e17, "9" * 40, int("9" * 40), -1e18, None, "x"])
def test_an_impossible_time_costs_its_event_alone(tmp_path: Path, ts: Any) -> None:
    data = report(tmp_path, event("a", ts, 1), event("b", 10, 5), event("c", 1.7e9, 1))
    assert data.trace.events == 3
    assert data.trace.start_us == 10
    assert {w.code for w in data.trace.warnings} & {"no-timestamp", "unexpected-type"}


def test_an_impossible_duration_is_none(tmp_path: Path) -> None:
    data = report(tmp_path, event("a", 10, 1e18), event("b", 20, 5))
    assert data.trace.duration_us == 15


def test_a_lone_event_with_absolute_nanoseconds_is_exact(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","ts":1700000000000000.123,"dur":1.5}]}'
    )
    assert analyze(path).data.trace.duration_us == 1.5
    from tb_hookview.trace import read_trace

    assert read_trace(path).events.start.tolist() == [1_700_000_000_000_000_123]


@pytest.mark.parametrize("pid", ["--5", "9" * 30, 10**17, "GPU 0", ""])
def test_device_rows_of_odd_processes(tmp_path: Path, pid: Any) -> None:
    kernel = {**event("k", 5, 7, "kernel", correlation=3), "pid": pid}
    assert report(tmp_path, kernel).totals.device_busy_us == {"-1": 7.0}


def test_names_that_look_like_marks(tmp_path: Path) -> None:
    data = report(tmp_path, event("x (y) forward ~hv" + "9" * 5000, 1, 1))
    assert data.modules == []


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"traceEvents": [' + "[" * 100_000,
        '{"a": ' + "[" * 100_000,
        '{"traceEvents": [{"ph": "X", "args": ' + '{"a":' * 100_000,
    ],
)
def test_nesting_without_end_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(
        TraceError, match=r"damaged or cut off|nested too deeply|not a PyTorch trace"
    ):
        analyze(path)


@pytest.mark.parametrize(
    "manifest",
    [
        {"a": json.loads("[" * 600 + "]" * 600)},
        {"modules": {"path": "a"}},
        {"modules": [{"path": None}, {"path": ["x"]}, {"class": "A"}, 5]},
        {"modules": [{"path": "a", "class": 7}], "roots": {"a": 1}},
        "text",
    ],
)
def test_a_manifest_of_any_shape(tmp_path: Path, manifest: Any) -> None:
    data = report(tmp_path, event("aten::mm", 1, 1), **{markers.MANIFEST_KEY: manifest})
    assert {m.path for m in data.modules} <= {"a"}


def test_a_manifest_that_lists_a_path_twice(tmp_path: Path) -> None:
    listed = [{"path": path, "class": "L"} for path in ("a", "a", "a.b")]
    data = report(tmp_path, event("x", 1, 1), **{markers.MANIFEST_KEY: {"modules": listed}})
    assert [m.path for m in data.modules] == ["a", "a.b"]


def test_the_rank_the_recorder_noted(tmp_path: Path) -> None:
    data = report(
        tmp_path, event("x", 1, 1), **{markers.MANIFEST_KEY: {"rank": 3, "world_size": 8}}
    )
    assert (data.trace.rank, data.trace.world_size) == (3, 8)


def test_two_forward_threads_alike_in_all_are_not_guessed(tmp_path: Path) -> None:
    rows = []
    for tid, path in ((1, "a"), (2, "b")):
        rows += [event(forward(path), 1, 20, tid=tid)]
        rows += [event("aten::mm", 5, 5, tid=tid, **{"Sequence number": 1})]
    node = {"Sequence number": 1}
    rows.append(event(EVALUATE + "MmBackward0", 50, 10, tid=3, **node, **{"Fwd thread id": 1}))
    rows.append(event(EVALUATE + "MmBackward0", 70, 20, tid=3, **node, **{"Fwd thread id": 2}))
    data = report(tmp_path, *rows)
    assert data.coverage.unattributed_host_us == 30


def test_processes_count_their_forward_threads_apart(tmp_path: Path) -> None:
    rows = []
    for pid, path in ((1, "a"), (2, "b")):
        own = [
            event(forward(path), 1, 20),
            event("aten::mm", 5, 5, **{"Sequence number": 1}),
            event(
                EVALUATE + "MmBackward0",
                50,
                10 * pid,
                tid=3,
                **{"Sequence number": 1, "Fwd thread id": 1},
            ),
        ]
        rows += [{**row, "pid": pid} for row in own]
    data = report(tmp_path, *rows)
    assert (host(data, "a"), host(data, "b")) == (10, 20)


def test_a_trace_that_begins_at_zero(tmp_path: Path) -> None:
    data = report(tmp_path, event(forward("a"), 0, 100), event("aten::mm", 200, 100))
    assert (data.trace.start_us, data.trace.duration_us) == (0, 300)
    (step,) = data.steps
    assert (step.duration_us, step.forward_us, step.other_us) == (300, 100, 200)


def test_a_device_busy_throughout_is_never_idle(tmp_path: Path) -> None:
    call = event("cudaLaunchKernel", 1, 5, "cuda_runtime", correlation=1)
    kernel = event("k", 1, 100, "kernel", tid=7, correlation=1, device=0)
    data = report(tmp_path, event("aten::mm", 1, 100), call, kernel)
    assert data.steps[0].device_idle_us == 0


def test_reading_a_value_back_after_the_step_is_not_forward(tmp_path: Path) -> None:
    number = {"Sequence number": 2}
    rows = [
        event(forward("a"), 1, 20),
        event("aten::mm", 2, 10, **{"Sequence number": 1}),
        event(EVALUATE + "MmBackward0", 30, 10, **{"Sequence number": 1, "Fwd thread id": 1}),
        event("aten::item", 50, 100, **number),
        event("aten::_local_scalar_dense", 51, 98, **number),
        event("cudaStreamSynchronize", 52, 90, "cuda_runtime", correlation=5),
    ]
    data = report(tmp_path, *rows)
    assert data.syncs[0].phase == "other"
    assert data.steps[0].forward_us == 20


def test_no_gap_is_billed_twice(tmp_path: Path) -> None:
    """Three syncs on three threads; the first and the third precede one kernel."""
    rows = [
        event("cudaLaunchKernel", 10, 1, "cuda_runtime", tid=1, correlation=1),
        event("k", 20, 10, "kernel", tid=7, correlation=1, device=0),
        event("cudaLaunchKernel", 150, 1, "cuda_runtime", tid=4, correlation=2),
        event("k", 160, 10, "kernel", tid=7, correlation=2, device=0),
        event("cudaLaunchKernel", 290, 1, "cuda_runtime", tid=4, correlation=3),
        event("k", 300, 10, "kernel", tid=7, correlation=3, device=0),
    ]
    for tid, ts, dur in ((1, 100, 100), (2, 110, 10), (3, 130, 70.5)):
        rows.append(event("cudaStreamSynchronize", ts, dur, "cuda_runtime", tid=tid))
    data = report(tmp_path, event("aten::mm", 1, 400, tid=9), *rows)
    billed = sum(sync.device_idle_us or 0 for sync in data.syncs)
    idle = 400 - 30
    assert 0 < billed <= idle
    first, second, third = data.syncs
    assert (first.device_idle_us or 0) + (third.device_idle_us or 0) <= 300 - 170
    assert (second.device_idle_us or 0) <= 160 - 30


def test_children_that_overlap_by_rounding_leave_nothing_negative(tmp_path: Path) -> None:
    rows = [
        event(forward("p"), 100.5, 10),
        event(forward("p.a"), 100.5, 6),
        event(forward("p.b"), 106, 4.5),
    ]
    data = report(tmp_path, *rows)
    assert all((m.forward.self_host_us or 0) >= 0 for m in data.modules)


def test_a_mark_of_an_unknown_module_does_not_hide_a_known_one(tmp_path: Path) -> None:
    gradient = [markers.encode("gradient", path, "L", "w") for path in ("a", "zz")]
    data = report(
        tmp_path,
        event(forward("a"), 1, 10),
        event(EVALUATE + "torch::autograd::AccumulateGrad", 20, 30),
        event(gradient[0], 22, 1),
        event(gradient[1], 25, 1),
    )
    assert host(data, "a") == 30
    (warning,) = data.trace.warnings
    assert warning.count == 1
    assert "not in the tree" in warning.message


def test_many_arrows_and_many_categories(tmp_path: Path) -> None:
    arrows = [
        {"ph": ph, "cat": "fwdbwd", "id": i, "pid": 1, "tid": 1, "ts": i}
        for i in range(50)
        for ph in "sf"
    ]
    odd = [event("x", i, 1, f"category {i}") for i in range(50)]
    data = report(tmp_path, *arrows, *odd)
    assert sum(w.count for w in data.trace.warnings if w.code == "unknown-category") == 50
    assert len(data.trace.warnings) == 11
    ids = [w.id for w in data.trace.warnings if w.code == "unknown-category"]
    assert ids[:3] == ["unknown-category", "unknown-category#2", "unknown-category#3"]
    assert len({w.id for w in data.trace.warnings}) == 11


def test_times_further_apart_than_64_bits_hold() -> None:
    """Times out of range count as none, with a warning; the rest is right."""
    name = "times_further_apart_than_64_bits_hold.json"
    data = analyze(Path(__file__).parents[1] / "data" / "damage" / name).data
    assert data.trace.duration_us == 4.6e15 - 1000
    assert {w.code: w.count for w in data.trace.warnings}["no-timestamp"] == 1
    assert [step.duration_us for step in data.steps] == [4.6e15 - 1000]
    assert data.totals.device_busy_us == {"0": 0.0}


def test_work_goes_to_the_last_launch_of_its_id_before_it(tmp_path: Path) -> None:
    """Ids restart in a second window; an id's first call launched no later events."""
    rows = [
        event("aten::mm", 1, 20, **{"Sequence number": 1}),
        event("cudaLaunchKernel", 2, 5, "cuda_runtime", correlation=7),
        event("k", 10, 4, "kernel", tid=7, correlation=7, device=0),
        event(EVALUATE + "MmBackward0", 100, 20, **{"Sequence number": 1, "Fwd thread id": 1}),
        event("cudaLaunchKernel", 102, 5, "cuda_runtime", correlation=7),
        event("k", 110, 8, "kernel", tid=7, correlation=7, device=0),
    ]
    for order in (rows, rows[::-1]):
        data = report(tmp_path, *order)
        assert (data.totals.forward_device_us, data.totals.backward_device_us) == (4, 8)
        (warning,) = [w for w in data.trace.warnings if "correlation id" in w.message]
        assert warning.count == 2


def test_work_that_begins_before_every_launch_of_its_id_goes_to_the_first(tmp_path: Path) -> None:
    rows = [
        event("k", 1, 4, "kernel", tid=7, correlation=7, device=0),
        event("aten::mm", 5, 20, **{"Sequence number": 1}),
        event("cudaLaunchKernel", 6, 5, "cuda_runtime", correlation=7),
        event(EVALUATE + "MmBackward0", 100, 20, **{"Sequence number": 1, "Fwd thread id": 1}),
        event("cudaLaunchKernel", 102, 5, "cuda_runtime", correlation=7),
    ]
    totals = report(tmp_path, *rows).totals
    assert (totals.forward_device_us, totals.backward_device_us) == (4, 0)


@pytest.mark.parametrize(("hours", "jumps"), [(0.9, 0), (1.1, 1), (1e5, 1)])
def test_a_clock_that_jumps_is_told(tmp_path: Path, hours: float, jumps: int) -> None:
    later = 3600e6 * hours
    data = report(tmp_path, event("a", 1, 100), event("b", later, 100), event("c", later + 9, 5))
    counts = [warning.count for warning in data.trace.warnings if "clock" in warning.message]
    assert counts == [1] * jumps


def test_launches_are_linked_by_external_ids_where_nothing_has_a_correlation(
    tmp_path: Path,
) -> None:
    """As ROCm's roctracer wrote them; the number of the operator is another numbering."""
    picture = """
        main ops    [aten::mm      ] [aten::add    ]
        main calls    [go corr=24]     [go corr=25]
        gpu  kernel       [k corr=24]       [k corr=25 ]
        """
    events = grid.events(picture, {"go": "hipExtModuleLaunchKernel"})
    rows = [row for row in events if "correlation" in row.get("args", {})]
    for row in rows:
        row["args"]["External id"] = row["args"].pop("correlation")
    data = report(tmp_path, *events)
    assert not {w.code for w in data.trace.warnings} & {"no-launch", "no-host"}
    assert {op.name: op.device_us for op in data.operators} == {"aten::mm": 11, "aten::add": 12}
    for row in rows[:1]:  # one correlation id, and they are what links
        row["args"]["correlation"] = 24
    assert "no-launch" in {w.code for w in report(tmp_path, *events).trace.warnings}


def test_rows_of_torch_autograd_profiler_are_operators(tmp_path: Path) -> None:
    """They have no category, and their process says where they were."""
    host = [event("aten::linear", 0, 30, ""), event("aten::addmm", 5, 20, "")]
    device = [event("aten::linear", 40, 9, "")]
    for row in (*host, *device):
        del row["cat"]
        row["pid"] = "CPU functions" if row in host else "CUDA functions"
    data = report(tmp_path, *host, *device)
    assert {row.name: row.self_host_us for row in data.operators} == {
        "aten::linear": 10,
        "aten::addmm": 20,
    }
    (warning,) = [w for w in data.trace.warnings if w.code == "old-device"]
    assert (warning.count, warning.severity) == (1, "high")
    assert "unknown-category" not in {w.code for w in data.trace.warnings}
