"""The command that measures on a GPU, here on the CPU: its parts' results and what it packs."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
import time
from collections import Counter

import psutil

from benchmarks.on_device import __main__ as command
from benchmarks.on_device import gallery, packing, parts, processes, results, syncs

GALLERY = parts.ROOT / "sample_traces/cpu"


def test_a_part_writes_its_results_and_all_is_packed(tmp_path):
    out, packed = tmp_path / "out", tmp_path / "packed"
    variants = "tied_weights.tied", "patch_dropout.before"
    for name in variants:
        shutil.copytree(GALLERY / name, out / "traces" / name)
    assert command.main([str(out), "--only", "waits", "--pack", str(packed)]) == 0
    found = json.loads((out / "waits.json").read_text())
    assert found["kind"] == ("cuda" if results.torch.cuda.is_available() else "cpu")
    assert found["replays"].keys() == {f"{name}/main.pt.trace.json.gz" for name in variants}
    assert all(abs(each["error"]) < 0.025 for each in found["replays"].values())
    assert all(each["rows"] == 0 for each in found["streams"].values())
    with tarfile.open(packed / "results.tar.gz") as archive:
        assert {"waits.json", "waits.log"} <= set(archive.getnames())
    with tarfile.open(packed / "traces_1.tar") as archive:
        assert len(archive.getnames()) == 2


def test_a_part_that_fails_is_said_and_the_next_one_runs(tmp_path, capsys):
    (tmp_path / "traces/broken").mkdir(parents=True)
    (tmp_path / "traces/broken/main.pt.trace.json.gz").write_bytes(b"no trace")
    assert command.main([str(tmp_path), "--only", "waits"]) == 1
    assert "waits: ended with code 1, see waits.log" in capsys.readouterr().out
    found = json.loads((tmp_path / "waits.json").read_text())
    assert "TraceError" in found["streams"]["error"]
    assert "error" not in found["queue_depth"]


def test_without_time_left_no_part_begins(tmp_path, capsys):
    assert command.main([str(tmp_path / "out"), "--seconds", "0", "--only", "smoke"]) == 1
    assert capsys.readouterr().out.startswith("smoke: no time left")
    assert not (tmp_path / "out").exists()


def test_a_process_that_takes_too_long_is_ended_with_its_children(tmp_path):
    starts = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    program = f"{starts}; import time; time.sleep(600)"
    log = tmp_path / "part.log"
    for seconds in (1, 4, 16, 64):  # on a busy machine it takes longer to begin
        said = processes.run([sys.executable, "-c", program], log, seconds)
        assert said == f"not done after {seconds} s"
        if log.read_text():
            break
    latest = time.monotonic() + 60  # the signal is sent at once; processes end when they run next
    while not _ended(int(log.read_text())):
        assert time.monotonic() < latest


def _ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_packed_files_are_bounded_and_hold_all(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "MOST_BYTES", 20_000)
    out = tmp_path / "out"
    sizes = {"a": 8_000, "b": 8_000, "c": 8_000, "huge": 30_000}
    for name, size in sizes.items():
        path = out / "traces" / name / "main.pt.trace.json.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(os.urandom(size))
    (out / "smoke.json").write_text("{}")
    (out / "smoke.inductor").mkdir()
    (out / "smoke.inductor/code.py").write_text("")
    written = packing.pack(out, tmp_path / "packed")
    assert [path.name for path in written] == ["results.tar.gz", "traces_1.tar", "traces_2.tar"]
    names = []
    for path in written:
        with tarfile.open(path) as archive:
            names += archive.getnames()
    assert sorted(names) == [
        "left_out.txt",
        "smoke.json",
        *(f"traces/{name}/main.pt.trace.json.gz" for name in "abc"),
    ]
    assert (out / "left_out.txt").read_text() == "traces/huge/main.pt.trace.json.gz\n"


def test_recordings_decide_and_what_only_libraries_add_has_a_name():
    counts = {
        "equal": [(0, 0, 0, 0), (1, 0, 0, 1), (0, 2, 0, 1)],
        "more in a library": [(1, 0, 1, 2), (1, 0, 0, 5)],
        "different": [(0, 0, 0, 1), (1, 0, 0, 0), (2, 0, 6, 6)],
    }
    found = {name: {syncs.verdict(*each) for each in cases} for name, cases in counts.items()}
    assert found == {name: {name} for name in counts}


def test_a_copy_to_pageable_memory_waits_once_with_or_without_a_call_after_it():
    read, call = "Memcpy DtoH (Device -> Pageable)", "cudaStreamSynchronize"
    none = Counter[str]()
    assert syncs.waits(["copy", read, call, "cudaFree"], none) == {call: 1, "cudaFree": 1}
    assert syncs.waits(["copy", read, "Memcpy DtoH (Device -> Pinned)"], none).total() == 1
    assert syncs.waits(["copy", read, call], Counter([call])).total() == 1, "the profiler's own"


def test_predicted_syncs_of_a_model_are_compared_by_pass_with_its_recording():
    predicted = {"places": {"a.py:1": 2, "backward": 1}, "uncertain": 0}
    seen = {"places": {"a.py:1": 2}, "recorded": {"forward": 1, "other": 1, "backward": 1}}
    row = gallery._row(predicted, seen)
    assert row["equal"]
    assert row["not as warned"] == {"backward": [1, 0]}
    seen["recorded"] = {"forward": 3}
    assert not gallery._row(predicted, seen)["equal"]
