"""The programs of the emulated device: recorded, asked, and run again with the change."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from known_answers.answer import Answer, Round, ask
from known_answers.device import Device
from known_answers.programs import Factors, Program, scale
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

_STEPS = 6


def answers(program: Program, rounds: int) -> list[Answer]:
    """Answers to the questions about a program; each round records it, and runs all changes."""
    found: list[list[Round]] = [[] for _ in program.questions]
    for _ in range(rounds):
        simulator = _recorded(program)
        for factors, each in zip(program.questions, found, strict=True):
            asked = ask(simulator, scaled(simulator.analysis, scale(factors)))
            each.append(Round(asked, _run(program, factors, recording=False)[0]))
    return [
        Answer(program.name, _words(factors), each)
        for factors, each in zip(program.questions, found, strict=True)
    ]


def _words(factors: Factors) -> str:
    return ", ".join(f"{what}={factor:g}" for what, factor in scale(factors).items())


def _recorded(program: Program) -> Simulator:
    events = _run(program, Factors(), recording=True)[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "emulated.pt.trace.json")
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
        return Simulator(Selection(load(path), None))


def _run(
    program: Program, factors: Factors, *, recording: bool
) -> tuple[float, list[dict[str, Any]]]:
    """Milliseconds per step after the first, which is not measured; and the events."""
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
