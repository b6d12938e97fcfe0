"""Compares, times and records one scenario in a process of its own.

A process of its own for each scenario, because they set torch's switches, compile, capture graphs,
and may break the device for everything after them.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sample_traces import libraries, processes
from sample_traces.measuring import Clock, summary, time_calls
from sample_traces.recording import TooLargeError, collect, record, traces
from sample_traces.scenario import Recording, Scenario, Setting, Training, UnavailableError, Variant
from sample_traces.scenarios import SCENARIOS

_ROUNDS = 3
_COMPARED_STEPS = 3


@dataclass(frozen=True)
class Task:
    """The task of the process."""

    scenario: str
    out: str
    """Folder for the traces."""
    result: str
    """File for the result; rewritten after each part, so that finished parts can be used."""
    device: str
    quick: bool
    seconds: float
    round_seconds: float
    """Of timing one variant, in each of some rounds."""
    most_bytes: int
    """Of one trace."""


def main() -> None:
    """Import the libraries that the arguments name, then run the task on standard input."""
    for name in sys.argv[1:]:
        with suppress(UnavailableError):  # the variant that needs it says so
            libraries.load(name)
    task = Task(**processes.given_task())
    work(task, next(each for each in SCENARIOS if each.name == task.scenario))


def work(task: Task, scenario: Scenario) -> None:
    """Run the scenario and write the result; an error is part of the result."""
    setting = setting_for(task.device, quick=task.quick)
    job = Job(task, scenario, setting)
    try:
        job.run()
    except Exception as error:  # noqa: BLE001 - part of the result; the other scenarios go on
        job.fail(error)
        traceback.print_exc()


class Job:
    """Runs one scenario."""

    def __init__(self, task: Task, scenario: Scenario, setting: Setting) -> None:
        self.task, self.scenario, self.setting = task, scenario, setting
        self.end = time.monotonic() + task.seconds
        self.ready: dict[str, Training] = {}
        self.result: dict[str, Any] = {
            "title": scenario.title,
            **place(setting.device),
            "quick": task.quick,
            "healthy": scenario.healthy,
            "shows": scenario.on_cpu,
            "variants": {variant.name: _described(variant) for variant in scenario.variants},
        }

    def run(self) -> None:
        """Build and compare the variants, record them, and time them in turns."""
        for variant in self.scenario.variants:
            self._build(variant)
        self._compare()
        for variant in self.scenario.variants:
            if variant.record is not None or variant.name in self.ready:
                self._record(variant)
        self._time()
        for training in self.ready.values():
            training.close()
        if self.scenario.further is not None:
            self._measure_further(self.scenario)

    def fail(self, error: Exception) -> None:
        """Note an error."""
        self.result["error"] = f"{type(error).__name__}: {error}"
        self._save()

    def _built(self) -> list[Variant]:
        return [each for each in self.scenario.variants if each.name in self.ready]

    def _build(self, variant: Variant) -> None:
        if variant.build is None:
            return
        entry = self.result["variants"][variant.name]
        torch.manual_seed(0)
        try:
            with variant.conditions(self.setting):
                self.ready[variant.name] = variant.build(self.setting)
        except UnavailableError as reason:
            entry["skipped"] = str(reason)
        self._save()

    def _compare(self) -> None:
        """Note the first losses of each variant, which should be equal."""
        for variant in self._built():
            torch.manual_seed(1)
            with variant.conditions(self.setting):
                steps = range(_COMPARED_STEPS)
                losses = [self.ready[variant.name].step().clone() for _ in steps]
            entry = self.result["variants"][variant.name]
            entry["first_losses"] = [loss.item() for loss in losses]
        found = [self.result["variants"][each.name]["first_losses"] for each in self._built()]
        self.result["losses_agree"] = agree(found, self.scenario.tolerance)
        self._save()

    def _record(self, variant: Variant) -> None:
        entry = self.result["variants"][variant.name]
        folder = Path(self.task.out, f"{self.scenario.name}.{variant.name}")
        shutil.rmtree(folder, ignore_errors=True)
        wanted = Recording(
            2 if self.task.quick else self.scenario.steps,
            stacks=self.scenario.stacks,
            memory=self.scenario.profile_memory,
        )
        try:
            with variant.conditions(self.setting):
                done = self._record_into(folder, variant, wanted)
        except TooLargeError as reason:
            entry["trace_skipped"] = str(reason)
        except UnavailableError as reason:
            entry["skipped"] = str(reason)
        else:
            entry["trace"] = folder.name
            entry["trace_bytes"] = sum(path.stat().st_size for path in traces(folder))
            entry["recorded"] = asdict(done)
        self._save()

    def _record_into(self, folder: Path, variant: Variant, wanted: Recording) -> Recording:
        """Record a variant; return how."""
        if variant.record is not None:
            run = partial(variant.record, self.setting, recording=wanted)
            collect(run, folder, self.task.most_bytes)
            return wanted
        return record(self.ready[variant.name], folder, wanted, self.task.most_bytes)

    def _time(self) -> None:
        """Time the variants in turns, so that other load slows all of them."""
        built = self._built()
        left = max(self.end - time.monotonic(), 0)
        share = 0.2 if self.scenario.further else 0.6
        seconds = (
            0.1
            if self.task.quick
            else min(self.task.round_seconds, share * left / _ROUNDS / max(len(built), 1))
        )
        rounds: dict[str, list[list[float]]] = {variant.name: [] for variant in built}
        for _ in range(1 if self.task.quick else _ROUNDS):
            for variant in built:
                clock = Clock(self.setting.device)
                with variant.conditions(self.setting):
                    step = self.ready[variant.name].step
                    rounds[variant.name].append(
                        time_calls(step, clock, seconds=seconds, at_least=5)
                    )
        for name, times in rounds.items():
            self.result["variants"][name] |= summary(times)
        self._save()

    def _measure_further(self, scenario: Scenario) -> None:
        assert scenario.further is not None
        self.ready.clear()
        rows: list[dict[str, Any]] = []
        self.result["further"] = rows
        for row in scenario.further(self.setting, max(self.end - time.monotonic(), 0)):
            rows.append(row)
            self._save()

    def _save(self) -> None:
        path = Path(self.task.result)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(self.result))
        partial.replace(path)


def agree(losses: list[list[float]], tolerance: float | None) -> bool | None:
    """Return whether the losses of all variants agree, to a relative tolerance.

    None where there is nothing to compare.
    """
    if tolerance is None or len(losses) < 2:
        return None
    first = losses[0]
    return all(
        abs(a - b) <= tolerance * abs(a)
        for other in losses[1:]
        for a, b in zip(first, other, strict=True)
    )


def setting_for(device: str, *, quick: bool) -> Setting:
    """Return the device of this process, and its sizes."""
    if device == "cpu":
        # Steps this small are faster so, and do not wait for threads that others keep from running.
        torch.set_num_threads(1)
    return Setting(torch.device(device), quick or device == "cpu")


def place(device: torch.device) -> dict[str, Any]:
    """Return the part of a result on where and when it was measured."""
    cuda = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if cuda else processor(),
        "kind": device.type,
        "cuda": torch.version.cuda if cuda else None,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
    }


def processor() -> str:
    """Return the kind of the CPU, as far as the system says it."""
    listed = Path("/proc/cpuinfo")
    text = listed.read_text() if listed.is_file() else ""
    name = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    return f"CPU, {os.cpu_count()} cores of {name[1] if name else platform.machine()}"


def _described(variant: Variant) -> dict[str, Any]:
    expected = [
        {"any_of": list(e.any_of), "module": e.module, "needs_device": e.needs_device}
        for e in variant.expected
    ]
    return {"expected": expected, "partly": variant.partly, "late": variant.late}


if __name__ == "__main__":
    main()
