"""The program itself, on the CPU: files, tables, and what it does when something is wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import torch
from support.forked_python import Done, run_python

import tb_hookview as hookview
from sample_traces import measured, processes, record, recording, validate
from sample_traces.measuring import Clock, summary, time_calls
from sample_traces.recording import TooLargeError
from sample_traces.scenario import Recording, Training

PROGRAM = Path(record.__file__)
NAMES = ("created_on_cpu", "masked_loss")


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    """A folder into which two scenarios were recorded, without a GPU even where there is one."""
    folder = tmp_path_factory.mktemp("samples")
    done = run("--quick", "--out", folder, *(part for name in NAMES for part in ("--only", name)))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(*arguments: object) -> Done[str]:
    no_gpu = {"CUDA_VISIBLE_DEVICES": ""}
    return run_python(PROGRAM, *(str(each) for each in arguments), environment=no_gpu)


@pytest.mark.slow
def test_every_variant_is_recorded_and_can_be_analyzed(out):
    runs = sorted(path.parent.name for path in recording.traces(out))
    assert runs == sorted(f"{name}.{variant}" for name in NAMES for variant in ("before", "after"))
    for name in runs:
        report = hookview.analyze(out / name).data
        assert len(report.steps) >= 2
        assert report.coverage.unattributed_host_us is not None
        paths = {module.path for module in report.modules}
        assert ("loss" if name.startswith("masked") else "0") in paths


@pytest.mark.slow
def test_a_trace_names_no_machine_and_no_folder(out):
    for path in recording.traces(out):
        text = gzip.decompress(path.read_bytes()).decode()
        root = json.loads(text)
        assert root["traceName"] == "sample"
        assert root.get("host_name", "sample") == "sample"
        assert str(PROGRAM.parents[1]) not in text


@pytest.mark.slow
def test_python_stacks_are_kept_where_they_fit(out):
    text = gzip.decompress(
        (out / "masked_loss.before" / "main.pt.trace.json.gz").read_bytes()
    ).decode()
    assert "sample_traces/scenarios/waits.py" in text


@pytest.mark.slow
def test_measured_json_says_what_was_measured(out):
    content = measured.read(out)
    assert list(content["scenarios"]) == list(NAMES)  # in the order of the table of scenarios
    for entry in content["scenarios"].values():
        assert entry["kind"] == "cpu"
        assert entry["device"].startswith("CPU, ")
        assert entry["quick"] is True
        assert entry["torch"] == torch.__version__
        assert entry["losses_agree"] is True
        for variant in entry["variants"].values():
            low, high = variant["spread_ms"]
            assert 0 < low <= variant["step_ms"] <= high
            (trace,) = recording.traces(out / variant["trace"])
            assert trace.stat().st_size == variant["trace_bytes"] <= 2_000_000
    expected = content["scenarios"]["masked_loss"]["variants"]["before"]["expected"]
    assert expected == [{"any_of": ["sync-mask-index"], "module": "loss", "needs_device": True}]


@pytest.mark.slow
def test_the_readme_gets_a_table(out):
    page = (out / "README.md").read_text()
    assert page.count("| masked_loss |") == 2
    assert f"torch {torch.__version__}" in page
    assert "sync-mask-index" not in page  # which no recording on a CPU shows
    assert "small sizes and few steps" in page


def test_text_around_the_table_stays(tmp_path):
    page = f"above\n{measured.BEGIN}\nold\n{measured.END}\nbelow\n"
    (tmp_path / "README.md").write_text(page)
    measured.write(tmp_path, {"version": 1, "scenarios": {}})
    written = (tmp_path / "README.md").read_text()
    assert written.startswith(f"above\n{measured.BEGIN}\n")
    assert written.endswith(f"{measured.END}\nbelow\n")
    assert "old" not in written


@pytest.mark.slow
def test_validation_says_what_was_missed(out):
    """As if the trace were of a GPU: nothing waits where there is no device."""
    content = measured.read(out)
    assert all(verdict.expected == () for verdict in validate.verdicts(out))
    changed = json.loads(json.dumps(content))
    changed["scenarios"]["masked_loss"]["kind"] = "cuda"
    measured.write(out, changed)
    found = {(v.scenario, v.variant): v for v in validate.verdicts(out)}
    before, after = found["masked_loss", "before"], found["masked_loss", "after"]
    assert before.missed == list(before.expected) != []
    assert before.predicted_gain_us is None
    assert after.expected == ()
    assert after.cured == ("sync-mask-index",)
    assert "missed `sync-mask-index` in `loss`" in validate.table(out)
    measured.write(out, content)


@pytest.mark.slow
def test_a_measured_gain_is_against_the_fastest_other_variant(out):
    content = measured.read(out)
    changed = json.loads(json.dumps(content))
    changed["scenarios"]["masked_loss"]["kind"] = "cuda"
    variants = changed["scenarios"]["masked_loss"]["variants"]
    for before_ms, after_ms, gain_us in ((5.0, 3.0, 2000.0), (3.0, 5.0, -2000.0)):
        variants["before"]["step_ms"], variants["after"]["step_ms"] = before_ms, after_ms
        measured.write(out, changed)
        found = {(v.scenario, v.variant): v.measured_gain_us for v in validate.verdicts(out)}
        assert found["masked_loss", "before"] == gain_us
        assert found["masked_loss", "after"] is None
    measured.write(out, content)


@pytest.mark.slow
def test_only_the_scenario_asked_for_is_replaced(out):
    before = measured.read(out)
    done = run("--quick", "--out", out, "--only", "created_on_cpu", "--seconds", 5)
    assert done.returncode == 0
    after = measured.read(out)
    assert "out of time" in after["scenarios"]["created_on_cpu"]["skipped"]
    assert after["scenarios"]["masked_loss"] == before["scenarios"]["masked_loss"]
    assert "created_on_cpu: skipped, out of time" in (out / "README.md").read_text()
    measured.write(out, before)


@pytest.mark.slow
def test_what_a_gpu_recorded_is_not_mixed_with_what_a_cpu_would(tmp_path):
    measured.write(tmp_path, {"version": 1, "scenarios": {"x": {"kind": "cuda", "variants": {}}}})
    done = run("--out", tmp_path)
    assert done.returncode == 2
    assert "holds what was recorded on cuda; choose another --out" in done.stderr


@pytest.mark.slow
def test_an_unknown_name_is_one_clear_line():
    done = run("--only", "nothing")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("no scenario is called nothing; --list lists them")


@pytest.mark.slow
def test_a_part_that_fails_keeps_what_it_had_written(tmp_path):
    result = tmp_path / "result.json"
    result.write_text('{"done": 1}')
    task = {"result": str(result), "scenario": "no such scenario"}
    found = processes.run("worker", task, seconds=60)
    assert found == {"done": 1, "error": "its process ended with code 1"}


def test_a_part_that_takes_too_long_is_ended(tmp_path):
    task = {"result": str(tmp_path / "result.json"), "scenario": "precision"}
    assert processes.run("worker", task, seconds=0.01)["error"] == "not done after 0 s"


class Noise(torch.nn.Module):
    def forward(self, x):
        for _ in range(50):
            x = x.sin()
        return x


def make_training() -> Training:
    model, x = Noise(), torch.ones(3, requires_grad=True)

    def step():
        loss = model(x).sum()
        loss.backward()
        return loss.detach()

    return Training(step, model)


def test_a_trace_that_is_too_large_is_recorded_with_less(tmp_path):
    wanted = Recording(16, stacks=True)
    sizes = {}
    for most in (10_000_000, 20_000):
        folder = tmp_path / str(most)
        sizes[most] = recording.record(make_training(), folder, wanted, most)
        (path,) = recording.traces(folder)
        assert path.stat().st_size <= most
    assert sizes[10_000_000] == wanted
    assert sizes[20_000].steps < 16
    with pytest.raises(TooLargeError, match="a trace takes"):
        recording.record(make_training(), tmp_path / "none", wanted, 100)
    assert not (tmp_path / "none").exists()


def test_a_variant_that_records_by_itself_leaves_a_file_for_each_rank(tmp_path):
    def run(folder):
        for rank in range(2):
            text = b'{"traceEvents": [], "host_name": "node7", "traceName": "/x/y.json"}'
            name = f"rank{rank}_node7_{rank}.17.pt.trace.json.gz"
            (folder / name).write_bytes(gzip.compress(text))

    recording.collect(run, tmp_path / "out", 1000)
    written = recording.traces(tmp_path / "out")
    assert [path.name for path in written] == [f"rank{r}.pt.trace.json.gz" for r in range(2)]
    assert not any(b"node7" in gzip.decompress(path.read_bytes()) for path in written)
    with pytest.raises(TooLargeError):
        recording.collect(run, tmp_path / "none", 10)
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        recording.collect(lambda _: None, tmp_path / "none", 1000)
    assert not (tmp_path / "none").exists()


def test_less_is_tried_in_the_order_of_its_worth():
    tries = [(r.steps, r.stacks, r.shapes) for r in recording.ways(Recording(4, stacks=True))]
    assert tries == [
        (4, True, True),
        (2, True, True),
        (2, False, True),
        (2, False, False),
        (1, False, False),
    ]


def test_as_many_calls_are_timed_as_fit():
    calls = []
    clock = Clock(torch.device("cpu"))
    times = time_calls(lambda: calls.append(1), clock, seconds=0.0, at_least=5)
    assert len(times) == 5
    assert len(calls) == 5 + 3  # three before them are not counted
    assert all(ms >= 0 for ms in times)


def test_a_summary_is_of_all_rounds():
    found = summary([[1.0, 2.0, 3.0], [2.0, 2.0, 90.0]])
    assert found["step_ms"] == 2.0
    assert found["rounds_ms"] == [2.0, 2.0]
    assert found["steps"] == 6
