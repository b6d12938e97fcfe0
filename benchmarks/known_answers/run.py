"""Record, ask, run again."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from known_answers.device import Device
from known_answers.programs import PROGRAMS, Factors, Program, scale
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

STEPS = 6


def run(program: Program, factors: Factors, *, recording: bool) -> tuple[float, list]:
    device = Device(recording=recording)
    for number in range(STEPS):
        if number == 1 and not recording:
            device.drain()
        if number == 1:
            start = time.perf_counter()
        with device.step(number):
            program.step(device, factors)
    device.drain()
    took = time.perf_counter() - start
    return took / (STEPS - 1) * 1e3, device.close()


def main() -> None:
    errors, naive = [], []
    for program in PROGRAMS:
        took, events = run(program, Factors(), recording=True)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
            simulator = Simulator(Selection(load(path), None))
        unchanged = simulator.unchanged
        print(
            program.name,
            "timed %.1f recorded %.1f replay %.1f"
            % (took, simulator.recorded.step / 1e6, unchanged.step / 1e6),
        )
        for factors in program.questions:
            p = simulator.predict(scaled(simulator.analysis, scale(factors)))
            actual = run(program, factors, recording=False)[0]
            e = p.step / 1e6 / actual - 1
            errors.append(abs(e))
            print(
                "    %-40s predicted %.1f (%.1f..%.1f) actual %.1f error %+.1f %%"
                % (scale(factors), p.step / 1e6, p.low / 1e6, p.high / 1e6, actual, e * 100)
            )
    print("median", statistics.median(errors), "max", max(errors))


if __name__ == "__main__":
    main()
