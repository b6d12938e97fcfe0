"""Records small traces of training steps with a known fault, before and after its fix.

    python sample_traces/record.py [--only NAME]... [--out DIR] [--quick] [--overhead] [--list]

Needs torch, and timm or torchvision for the scenarios that name them. Times every variant without
the profiler, records it, and writes traces, measured.json and the tables of README.md: into gpu/
next to this file on a GPU, elsewhere into cpu/, into quick/ with --quick. Without a GPU only those
are recorded that show something there, unless --quick or --only asks for others. Takes ten minutes
at most.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from sample_traces import libraries, measured, processes
from sample_traces.recording import traces
from sample_traces.scenario import Scenario
from sample_traces.scenarios import SCENARIOS

_FOLDER = Path(__file__).resolve().parent
_MOST_BYTES_OF_ONE = 2_000_000
_MOST_BYTES = 15_000_000
"""Of all traces of a folder."""
_CHECK_SECONDS = 300
_START = 60
"""Seconds for a process to import torch and its libraries, to find the device, and to end."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where a scenario failed, 2 for a wrong command."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.list:
        for scenario in SCENARIOS:
            print(f"{scenario.name:<24}{scenario.title}")
        return 0
    device = "cuda" if torch.cuda.is_available() else "cpu"
    on_gpu = device == "cuda"
    chosen = _choose(options.only, parser, everything=options.quick or on_gpu, on_gpu=on_gpu)
    out = options.out or _default_folder(device, quick=options.quick)
    content = measured.read(out)
    _refuse_mixing(content, device, out, parser)
    print(f"recording on {device} into {out}", flush=True)
    session = Session(out, device, options, content)
    if options.overhead:
        session.check()
    else:
        session.record(chosen)
    return 1 if session.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="a scenario; repeatable")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write into")
    parser.add_argument("--quick", action="store_true", help="small sizes and few steps, to try it")
    parser.add_argument("--list", action="store_true", help="list the scenarios and stop")
    parser.add_argument(
        "--overhead",
        action="store_true",
        help="instead check the recorder: what it costs, attribution by a truth, gradients",
    )
    parser.add_argument(
        "--seconds", type=float, default=570, help="for all scenarios together (570)"
    )
    parser.add_argument(
        "--round-seconds", type=float, default=1.5, help="each of three timings of a variant (1.5)"
    )
    return parser


def _choose(
    names: list[str] | None,
    parser: argparse.ArgumentParser,
    *,
    everything: bool,
    on_gpu: bool,
) -> list[Scenario]:
    known = {scenario.name: scenario for scenario in SCENARIOS}
    for name in names or []:
        if name not in known:
            parser.error(f"no scenario is called {name}; --list lists them")
    if names is None:
        fitting = (scenario for scenario in SCENARIOS if not (on_gpu and scenario.cpu_only))
        return [scenario for scenario in fitting if everything or scenario.on_cpu]
    return [scenario for name, scenario in known.items() if name in names]


def _default_folder(device: str, *, quick: bool) -> Path:
    if quick:
        return _FOLDER / "quick"
    return _FOLDER / ("gpu" if device == "cuda" else "cpu")


def _refuse_mixing(
    content: dict[str, Any], device: str, out: Path, parser: argparse.ArgumentParser
) -> None:
    kinds = {entry.get("kind", device) for entry in content["scenarios"].values()}
    if kinds - {device}:
        parser.error(f"{out} holds what was recorded on {'/'.join(kinds)}; choose another --out")


class Session:
    """One run of the program."""

    def __init__(
        self, out: Path, device: str, options: argparse.Namespace, content: dict[str, Any]
    ) -> None:
        self.out, self.device, self.content = out, device, content
        self.quick, self.round_seconds = options.quick, options.round_seconds
        self.end = time.monotonic() + options.seconds
        self.failed: list[str] = []
        out.mkdir(parents=True, exist_ok=True)

    def record(self, chosen: list[Scenario]) -> None:
        """Record scenarios one after another; write the results after each.

        On a GPU the process of the next one imports its libraries meanwhile, on other cores.
        """
        with ExitStack() as ends:
            waiting: dict[str, processes.Process] = {}

            def start(scenarios: list[Scenario]) -> None:
                for each in scenarios:
                    if each.name not in waiting and not libraries.missing(each.needs):
                        waiting[each.name] = self._started(each, ends)

            for place, scenario in enumerate(chosen):
                start(chosen[place : place + (2 if self.device == "cuda" else 1)])
                began = time.monotonic()
                process = waiting.get(scenario.name)
                result = self._record(scenario, process, chosen[place:])
                self.content["scenarios"][scenario.name] = result
                self._keep_order()
                measured.write(self.out, self.content)
                if "error" in result:
                    self.failed.append(scenario.name)
                said = result.get("error") or result.get("skipped") or "recorded"
                print(f"{scenario.name}: {said} ({time.monotonic() - began:.0f} s)", flush=True)

    def _started(self, scenario: Scenario, ends: ExitStack) -> processes.Process:
        scratch = ends.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        # The recorder maps a graph as it is compiled, not where a cache has it.
        compiled = {"TORCHINDUCTOR_CACHE_DIR": scratch}
        process = processes.Process(
            "worker", environment={**compiled, **scenario.environment}, needs=scenario.needs
        )
        ends.callback(process.end)
        return process

    def _record(
        self, scenario: Scenario, process: processes.Process | None, coming: list[Scenario]
    ) -> dict[str, Any]:
        left = self.end - time.monotonic()
        nothing = {"title": scenario.title, "kind": self.device, "variants": {}}
        if process is None:
            lacking = " and ".join(libraries.missing(scenario.needs))
            return {**nothing, "skipped": f"{lacking} not installed"}
        if left < _START / 2:
            return {**nothing, "skipped": f"out of time; run it with --only {scenario.name}"}
        with tempfile.TemporaryDirectory() as scratch:
            task = {
                "scenario": scenario.name,
                "out": str(self.out.resolve()),
                "result": str(Path(scratch, "result.json")),
                "device": self.device,
                "quick": self.quick,
                "seconds": min(scenario.seconds, left - _START / 2),
                "round_seconds": self.round_seconds,
                "most_bytes": self._room(coming),
            }
            result = process.run(task, seconds=min(scenario.seconds + _START, left))
        return {**nothing, **result}

    def _room(self, coming: list[Scenario]) -> int:
        """Return the maximum size of each trace that is left to record."""
        names = {f"{s.name}.{v.name}" for s in coming for v in s.variants}
        there = sum(
            path.stat().st_size for path in traces(self.out) if path.parent.name not in names
        )
        room = max(0, _MOST_BYTES - there)
        return min(_MOST_BYTES_OF_ONE, room // sum(s.ranks * len(s.variants) for s in coming))

    def check(self) -> None:
        """Run the checks of the recorder."""
        with tempfile.TemporaryDirectory() as scratch:
            task = {
                "out": str(self.out.resolve()),
                "result": str(Path(scratch, "result.json")),
                "device": self.device,
                "quick": self.quick,
            }
            environment = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
            process = processes.Process("gpu_checks", environment=environment)
            left = max(self.end - time.monotonic(), 1)
            checks = process.run(task, seconds=min(_CHECK_SECONDS, left))
        self.content["checks"] = checks
        measured.write(self.out, self.content)
        if "error" in checks:
            self.failed.append("checks")
        print(f"checks: {checks.get('error', 'done')}", flush=True)

    def _keep_order(self) -> None:
        found = self.content["scenarios"]
        ordered = [scenario.name for scenario in SCENARIOS if scenario.name in found]
        self.content["scenarios"] = {name: found[name] for name in ordered}


if __name__ == "__main__":
    sys.exit(main())
