"""The programs of the emulated device: recorded, asked, and run again with the change."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from known_answers.answer import Answer, Predicted, ask, median_of
from known_answers.device import Device
from known_answers.programs import PROGRAMS, Factors, Program, scale
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

_STEPS = 6


def answers(rounds: int) -> Iterator[Answer]:
    """Yield the answers to all questions, medians of `rounds` runs.

    Each round records a program, and runs it with each of its changes.
    """
    for program in PROGRAMS:
        asked: list[list[Predicted]] = [[] for _ in program.questions]
        happened: list[list[float]] = [[] for _ in program.questions]
        for _ in range(rounds):
            simulator = _recorded(program)
            for each, factors in enumerate(program.questions):
                change = scaled(simulator.analysis, scale(factors))
                asked[each].append(ask(simulator, change))
                happened[each].append(_run(program, factors, recording=False)[0])
        for factors, predicted, took in zip(program.questions, asked, happened, strict=True):
            question = ", ".join(f"{what}={factor:g}" for what, factor in scale(factors).items())
            yield Answer(program.name, question, median_of(predicted), statistics.median(took))


def _recorded(program: Program) -> Simulator:
    events = _run(program, Factors(), recording=True)[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "emulated.pt.trace.json")
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
        return Simulator(Selection(load(path), None))


def _run(
    program: Program, factors: Factors, *, recording: bool
) -> tuple[float, list[dict[str, Any]]]:
    """Milliseconds a step after the first, which is not measured; and the events."""
    device, start = Device(recording=recording), 0.0
    for number in range(_STEPS):
        if number == 1:
            if not recording:
                device.drain()
            start = time.perf_counter()
        with device.step(number):
            program.step(device, factors)
    device.drain()
    took = time.perf_counter() - start
    return took / (_STEPS - 1) * 1000, device.close()
