"""Compares reports on recorded traces with measurements; writes validation.md.

    python sample_traces/validate.py [DIR] [--write benchmarks/results/validation.md]

Needs the analyzer. DIR is gpu/ next to this file by default.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tb_hookview as hookview
from sample_traces import measured
from sample_traces.measured import shown
from sample_traces.recording import traces

BEGIN, END = "<!-- validation:begin -->", "<!-- validation:end -->"
NEAR = 0.15
"""Part of a timed step within which an estimate is near: these hosts vary by 10 to 20%."""


@dataclass(frozen=True)
class Verdict:
    """The findings of one variant's report, and the expected ones."""

    scenario: str
    variant: str
    trace: Path
    expected: tuple[dict[str, Any], ...]
    """As measured.json has them."""
    cured: tuple[str, ...]
    """Rules that the first variant is expected to fire and this one is not."""
    healthy: bool
    measured_gain_us: float | None
    """How much shorter than this variant's step that of the fastest other variant is, negative
    where the remedies lose; None where nothing is wrong with this one."""
    measured_step_us: float | None
    certain: bool
    """Whether the quartiles of both variants' steps lie apart."""

    @cached_property
    def report(self) -> Any:
        """Return the report on the trace."""
        return hookview.analyze(self.trace)

    @property
    def findings(self) -> list[Any]:
        """Return the findings of the report."""
        return list(self.report.data.findings)

    def found(self, expected: dict[str, Any]) -> list[Any]:
        """Return the findings that were expected."""
        return [
            finding
            for finding in self.findings
            if finding.rule in expected["any_of"] and expected["module"] in (None, finding.module)
        ]

    @property
    def missed(self) -> list[dict[str, Any]]:
        """Return the expected rules that did not fire."""
        return [each for each in self.expected if not self.found(each)]

    @property
    def unwanted(self) -> list[Any]:
        """Return the findings that should not be there: fixed faults, any in a healthy step."""
        return [
            finding
            for finding in self.findings
            if finding.rule in self.cured or (self.healthy and finding.confidence == "high")
        ]

    @property
    def predicted_gain_us(self) -> float | None:
        """Return the gain per step of a replay without all expected findings; None without one."""
        predicted = self.predicted
        return None if predicted is None else predicted[0]

    @cached_property
    def predicted(self) -> tuple[float, float] | None:
        """Return that gain, and the step it is of; None without one.

        Without the profiler where the trace shows it, as the measured steps are.
        """
        found = {finding.id for each in self.expected for finding in self.found(each)}
        if not found:
            return None
        answer = self.report.whatif(without=sorted(found))
        if answer.refused:
            return None
        if answer.unrecorded_us is None or answer.unrecorded_predicted_us is None:
            return float(answer.replayed_us - answer.predicted_us), float(answer.replayed_us)
        gain = answer.unrecorded_us - answer.unrecorded_predicted_us
        return float(gain), float(answer.unrecorded_us)

    @property
    def step_off(self) -> float | None:
        """Return by which part the estimated step without recording is longer than the timed one.

        None where one of them is unknown.
        """
        estimated = self.report.verdict.unrecorded_step_us
        if estimated is None or not self.measured_step_us:
            return None
        return float(estimated / self.measured_step_us - 1)


def verdicts(folder: Path) -> Iterator[Verdict]:
    """Yield a verdict on every trace that a folder's measured.json names."""
    for name, entry in measured.read(folder)["scenarios"].items():
        variants = entry.get("variants", {})
        first: dict[str, Any] = next(iter(variants.values()), {"expected": []})
        for variant, found in variants.items():
            path = folder / found.get("trace", "nothing")
            if len(traces(path)) != 1:  # of a run of several ranks there is no one report
                continue
            expected = shown(entry, found)
            other = _fastest_other(variants, variant) if expected else None
            cured = () if found["expected"] or found.get("partly") else _rules(first)
            yield Verdict(
                name,
                variant,
                path,
                tuple(expected),
                cured,
                bool(entry.get("healthy")),
                None if other is None else (found["step_ms"] - other["step_ms"]) * 1000,
                found["step_ms"] * 1000 if "step_ms" in found else None,
                other is not None and _apart(found, other),
            )


def _rules(variant: dict[str, Any]) -> tuple[str, ...]:
    return tuple(rule for each in variant["expected"] for rule in each["any_of"])


def _fastest_other(variants: dict[str, Any], variant: str) -> dict[str, Any] | None:
    """Return the fastest other variant; None where one of both was not timed."""
    others = [each for name, each in variants.items() if name != variant and "step_ms" in each]
    if "step_ms" not in variants[variant] or not others:
        return None
    fastest: dict[str, Any] = min(others, key=lambda each: float(each["step_ms"]))
    return fastest


def _apart(one: dict[str, Any], other: dict[str, Any]) -> bool:
    (low, high), (least, most) = one["spread_ms"], other["spread_ms"]
    return bool(low > most or least > high)


def attribution_rows(folder: Path) -> list[tuple[str, str, float, float]]:
    """Return path, class, the milliseconds of the backward alone, and what the report gives.

    Empty where the check was not run. On a GPU the report's figure is device time, elsewhere the
    host's.
    """
    check = measured.read(folder).get("checks", {}).get("attribution", {})
    path = folder / check.get("trace", "nothing")
    if not path.is_dir():
        return []
    times: defaultdict[str, list[float]] = defaultdict(list)
    for step in hookview.analyze(path).data.steps[: check["steps"]]:
        for module in hookview.analyze(path, steps=[step.name]).data.modules:
            times[module.path].append(_backward_us(module, check["clock"]) / 1000)
    return [
        (row["path"], row["class"], row["alone_ms"], statistics.median(times[row["path"]]))
        for row in check["modules"]
    ]


def _backward_us(module: Any, clock: str) -> float:
    backward = module.backward
    return (backward.self_device_us if clock == "CUDA events" else backward.self_host_us) or 0.0


def table(folder: Path) -> str:
    """Return everything as Markdown."""
    found = list(verdicts(folder))
    if not found:
        return "Nothing was recorded yet."
    places = {
        measured.place_of(entry): None
        for entry in measured.read(folder)["scenarios"].values()
        if entry.get("variants")
    }
    rows = [
        "| scenario | variant | expected | found | unwanted | predicted gain, us per step "
        "| measured gain, us per step |",
        "| --- | --- | --- | --- | --- | ---: | ---: |",
        *(_row(verdict) for verdict in found),
    ]
    parts = [f"{'; '.join(places)}.", "\n".join(rows), _steps_table(found)]
    attribution = attribution_rows(folder)
    if attribution:
        parts.append(_attribution_table(attribution))
    return "\n\n".join(parts)


def _row(verdict: Verdict) -> str:
    wanted = "; ".join(_expectation(each) for each in verdict.expected)
    if verdict.healthy:
        wanted = "nothing of high confidence"
    got = "; ".join(
        f"`{finding.rule}`" for each in verdict.expected for finding in verdict.found(each)[:1]
    )
    missed = "; ".join(f"missed {_expectation(each)}" for each in verdict.missed)
    unwanted = "; ".join(f"`{finding.rule}`" for finding in verdict.unwanted)
    predicted, measured_us = verdict.predicted, verdict.measured_gain_us
    gains = ["" if predicted is None else _share(*predicted)]
    gains += ["" if measured_us is None else _share(measured_us, verdict.measured_step_us or 0)]
    if measured_us is not None and not verdict.certain:
        gains[1] += ", quartiles overlap"
    said = "; ".join(part for part in (got, missed) if part)
    return (
        f"| {verdict.scenario} | {verdict.variant} | {wanted} | {said} | {unwanted} "
        f"| {gains[0]} | {gains[1]} |"
    )


def _steps_table(found: Sequence[Verdict]) -> str:
    near, timed = near_steps(found)
    lines = [
        "Steps as recorded, without recording as the report estimates it, and timed without the "
        f"profiler, ms: {near} of {timed} estimates are within {NEAR:.0%}.",
        "",
        "| scenario | variant | recorded | estimated | timed | off |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for verdict in found:
        if verdict.measured_step_us and (off := verdict.step_off) is not None:
            said = verdict.report.verdict
            times = (said.step_us, said.unrecorded_step_us, verdict.measured_step_us)
            cells = " | ".join(f"{us / 1000:.2f}" for us in times)
            lines.append(f"| {verdict.scenario} | {verdict.variant} | {cells} | {off:+.0%} |")
    return "\n".join(lines)


def near_steps(found: Sequence[Verdict]) -> tuple[int, int]:
    """Return how many estimated steps are near the timed ones, and how many there are."""
    off = [each.step_off for each in found if each.step_off is not None]
    return sum(abs(each) <= NEAR for each in off), len(off)


def _share(gain_us: float, step_us: float) -> str:
    """Return a gain, and as a part of its step: recorded steps may be longer than timed ones."""
    return f"{gain_us:.0f} ({gain_us / step_us:.0%})" if step_us else f"{gain_us:.0f}"


def _expectation(expected: dict[str, Any]) -> str:
    rules = " or ".join(f"`{rule}`" for rule in expected["any_of"])
    return rules if expected["module"] is None else f"{rules} in `{expected['module']}`"


def _attribution_table(rows: list[tuple[str, str, float, float]]) -> str:
    lines = [
        "Backward of each module of a chain: timed alone, and as the report on a recorded step "
        "gives it; ms per step.",
        "",
        "| module | class | alone | report |",
        "| --- | --- | ---: | ---: |",
    ]
    lines += [f"| {path} | {kind} | {alone:.4f} | {said:.4f} |" for path, kind, alone, said in rows]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables, or write them between the markers of a page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(__file__).resolve().parent / "gpu"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="a page with the markers")
    options = parser.parse_args(argv)
    block = table(options.folder)
    if options.write is None:
        print(block)
        return 0
    page = options.write.read_text(encoding="utf-8") if options.write.is_file() else ""
    if not 0 <= page.find(BEGIN) < page.find(END):
        parser.error(f"{options.write}: has no lines {BEGIN} and {END} to write between")
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    options.write.write_text(f"{before}{BEGIN}\n\n{block}\n\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
