"""The recordings in `sample_traces/cpu`: what is in the files, and what reports say of them."""

from __future__ import annotations

import gzip
import re
import socket
from functools import cache
from pathlib import Path

import gallery
import msgspec
import pytest

from sample_traces import measured, recording, validate
from sample_traces.scenarios import SCENARIOS
from tb_hookview import Report, analyze, analyze_run
from tb_hookview.cli.demo import _add_samples
from tb_hookview.schema import Module
from tb_hookview.server import create_app

CONTENT = measured.read(gallery.FOLDER)["scenarios"]
TRACES = recording.traces(gallery.FOLDER)
OF_ONE_RANK = [
    (scenario, variant)
    for scenario, entry in CONTENT.items()
    for variant, found in entry["variants"].items()
    if len(recording.traces(gallery.FOLDER / found["trace"])) == 1
]
each_verdict = pytest.mark.parametrize("verdict", OF_ONE_RANK, ids="-".join, indirect=True)
each_trace = pytest.mark.parametrize(
    "path", TRACES, ids=lambda path: path.relative_to(gallery.FOLDER).as_posix()
)
_PLACES = rb"(?<![\w.])/(?:home|root|Users|work|tmp|var|usr|opt|mnt|data|private)/"
_NAMES = re.compile(
    rb'"((?i:host_name|hostname|user|username|cwd|env|environ|argv))"\s*:\s*(?!\s|"sample")'
)
"""Keys at any depth, but for names of machines that were replaced."""


@cache
def verdicts() -> dict[tuple[str, str], validate.Verdict]:
    found = validate.verdicts(gallery.FOLDER)
    return {(verdict.scenario, verdict.variant): verdict for verdict in found}


@pytest.fixture
def verdict(request: pytest.FixtureRequest) -> validate.Verdict:
    return verdicts()[request.param]


@cache
def report(run: str) -> Report:
    return analyze(gallery.recording(run))


def module(run: str, path: str) -> Module:
    (found,) = [row for row in report(run).data.modules if row.path == path]
    return found


def test_every_scenario_that_shows_something_on_a_cpu_is_there() -> None:
    assert list(CONTENT) == [scenario.name for scenario in SCENARIOS if scenario.on_cpu]
    assert len(CONTENT) >= 10
    for scenario in SCENARIOS:
        for variant in scenario.variants if scenario.on_cpu else ():
            entry = CONTENT[scenario.name]["variants"][variant.name]
            assert entry["trace"] == f"{scenario.name}.{variant.name}"
            files = recording.traces(gallery.FOLDER / entry["trace"])
            assert len(files) == scenario.ranks
            assert entry["trace_bytes"] == sum(path.stat().st_size for path in files)


def test_they_are_small_and_of_a_cpu() -> None:
    sizes = [path.stat().st_size for path in TRACES]
    assert max(sizes) <= 2_000_000
    assert sum(sizes) <= 15_000_000
    assert {entry["kind"] for entry in CONTENT.values()} == {"cpu"}
    assert all(entry["device"].startswith("CPU, ") for entry in CONTENT.values())
    assert not any(entry["quick"] or "error" in entry for entry in CONTENT.values())
    assert all(entry["losses_agree"] is not False for entry in CONTENT.values())


def test_no_folder_is_without_an_entry_and_the_page_lists_each() -> None:
    page = (gallery.FOLDER / "README.md").read_text(encoding="utf-8")
    listed = {v["trace"] for entry in CONTENT.values() for v in entry["variants"].values()}
    assert {path.name for path in gallery.FOLDER.iterdir() if path.is_dir()} == listed
    assert all(f"]({run}/) |" in page for run in listed)
    assert "**on a CPU**" in page
    assert measured.tables({"scenarios": CONTENT}) in page


@each_trace
def test_no_machine_user_or_folder_is_named(path: Path) -> None:
    text = gzip.decompress(path.read_bytes())
    assert [text[found.start() : found.end() + 60] for found in re.finditer(_PLACES, text)] == []
    host = socket.gethostname().encode()
    assert len(host) < 6 or host not in text
    assert _NAMES.findall(text) == []
    assert bytes(msgspec.json.decode(text, type=dict[str, msgspec.Raw])["traceName"]) == b'"sample"'


@each_verdict
def test_what_is_wrong_is_found_in_its_module(verdict: validate.Verdict) -> None:
    assert verdict.missed == []


@each_verdict
def test_what_is_right_has_no_finding_of_high_confidence(verdict: validate.Verdict) -> None:
    if verdict.expected:
        wanted = {rule for each in verdict.expected for rule in each["any_of"]}
        assert {each.rule for each in verdict.findings if each.confidence == "high"} <= wanted
    else:
        assert [each for each in verdict.findings if each.confidence == "high"] == []


@each_verdict
def test_nearly_all_of_the_backward_is_attributed(verdict: validate.Verdict) -> None:
    """All but the loss, which no module computes."""
    coverage = verdict.report.data.coverage
    unknown = dict(coverage.unattributed_by_reason)
    if verdict.variant == "reentrant":  # the input of a block, detached, has a gradient, too
        assert unknown.pop("gradient accumulation, parameter unknown") > 0
    if verdict.scenario == "recompiled":  # with which the compiler traces the backward
        unknown.pop("no forward operator found", None)
    assert set(unknown) <= {"not made in a module"}
    assert coverage.unattributed_host_us < 0.2 * coverage.backward_host_us


def test_without_loading_a_step_takes_what_it_takes_with_workers() -> None:
    predicted = report("slow_storage.0_workers").whatif(scale={"data": 0})
    steps = report("slow_storage.4_workers").counted.data.per_step
    assert predicted.predicted_us == pytest.approx(steps.duration_us, rel=0.25)
    (finding,) = report("slow_storage.0_workers").data.findings
    assert finding.gain_us_per_step == pytest.approx(predicted.step_us - predicted.predicted_us)


def test_modules_inside_compiled_code_are_placed() -> None:
    for run in ("compiled.compiled", "compiled.graph_break"):
        data = report(run).data
        assert data.compiled is not None
        assert data.compiled.placed == data.compiled.calls > 0
        for direction in (data.compiled.forward, data.compiled.backward):
            assert direction.placed_host_us >= 0.95 * direction.host_us
        assert all(row.forward.host_us is not None for row in data.modules)
        assert data.trace.warnings == []


def test_recomputed_forwards_are_apart() -> None:
    for run in ("checkpointing.reentrant", "checkpointing.non_reentrant"):
        again = [row for row in report(run).data.modules if row.recompute is not None]
        assert {"blocks.0.qkv", "blocks.1.mlp.2"} <= {row.path for row in again}
        assert not any(row.path.startswith(("embed", "head")) for row in again)
    assert all(row.recompute is None for row in report("checkpointing.none").data.modules)


def test_checkpointed_blocks_hold_fewer_activations() -> None:
    held = {
        run: sum(row.activation_bytes or 0 for row in report(f"checkpointing.{run}").memory_modules)
        for run in ("reentrant", "non_reentrant", "none")
    }
    assert max(held["reentrant"], held["non_reentrant"]) < held["none"]


def test_memory_is_that_of_modules_and_of_all_classes() -> None:
    for run in ("memory_growth.whole", "memory_growth.mean"):
        data = report(run).data
        assert data.memory_peaks
        assert {"body.0", "head"} <= {row.module for row in data.memory_modules}


def test_the_backward_of_patch_dropout() -> None:
    for run, node in (("before", "GatherBackward0"), ("after", "IndexBackward0")):
        rows = report(f"patch_dropout.{run}").tables()["node_evaluations"].to_polars()
        assert set(rows.filter(rows["name"] == node)["module"]) == {"patch_drop"}
    assert module("patch_dropout.before", "patch_drop").backward.self_host_us


def test_the_gradient_of_a_shared_weight_is_accumulated_once() -> None:
    counts = {}
    for run in ("tied", "apart"):
        rows = report(f"tied_weights.{run}").tables()["node_evaluations"].to_polars()
        sums = rows.filter(rows["name"] == "torch::autograd::AccumulateGrad")
        counts[run] = {
            name: sums.filter(sums["module"] == name).height for name in ("embed", "head")
        }
    assert counts == {"tied": {"embed": 4, "head": 0}, "apart": {"embed": 4, "head": 4}}


def test_a_fused_optimizer_runs_fewer_operators_in_less_time() -> None:
    times, counts = {}, {}
    for run in ("for_loop", "foreach", "fused"):
        found = report(f"unfused_optimizer.{run}")
        times[run] = found.counted.data.per_step.optimizer_us
        rows = found.tables()["host_rows"].to_polars()
        counts[run] = rows.filter(rows["phase"] == "optimizer").height
    assert times["fused"] < min(times["for_loop"], times["foreach"])
    assert counts["fused"] < counts["for_loop"] / 3


def test_the_late_rank_and_its_module_are_named() -> None:
    run = analyze_run(gallery.FOLDER / "late_rank.late")
    (straggler,) = run.stragglers
    late = CONTENT["late_rank"]["variants"]["late"]["late"]
    assert (straggler.rank, straggler.module) == (2, late)
    assert straggler.excess_us == pytest.approx(100_000, rel=0.1)
    assert 50_000 < straggler.gain_us_per_step <= straggler.excess_us


def test_no_rank_is_late_by_as_much_where_none_is_slowed() -> None:
    """Four processes on two cores keep each other waiting for some milliseconds."""
    run = analyze_run(gallery.FOLDER / "late_rank.even")
    assert len(run.ranks) == 4
    assert run.data.unmatched == 0
    assert all(row.wait_caused_us < 50_000 for row in run.stragglers)


def test_the_page_lists_them_as_runs_on_a_cpu() -> None:
    client = create_app(gallery.FOLDER.parent).test_client()
    runs = {run["name"]: run["workers"] for run in client.get("/api/runs").get_json()["runs"]}
    assert {f"cpu/{path.parent.name}" for path in TRACES} <= set(runs)
    assert [worker["name"] for worker in runs["cpu/late_rank.late"]] == [
        f"rank{rank}" for rank in range(4)
    ]
    asked = {"run": "cpu/compiled.compiled", "worker": "main"}
    assert client.get("/api/report", query_string=asked).get_json()["compiled"]["placed"] == 8


def test_the_demo_shows_them_next_to_its_run(tmp_path: Path) -> None:
    _add_samples(tmp_path)
    for path in TRACES:
        copy = tmp_path / "sample_traces" / "cpu" / path.relative_to(gallery.FOLDER)
        assert copy.read_bytes() == path.read_bytes()
    _add_samples(gallery.FOLDER.parents[1])  # it is served already
    assert not (gallery.FOLDER.parents[1] / "sample_traces" / "sample_traces").exists()
