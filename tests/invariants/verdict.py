"""What decides the length of a step: its figures, its sentence, and what-ifs agree."""

from __future__ import annotations

import re

import msgspec
from invariants.case import Case
from invariants.registry import Of, invariant
from invariants.report import at_most, near

from tb_hookview.formats import format_us
from tb_hookview.schema import Verdict
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Prediction
from tb_hookview.simulation.whatif import path_time

WORDS = 25
ROUNDING_US = 0.01
PAUSED = 1.5
"""Length of communication alone, pauses before its collectives included, by their device time: at
most this. What recordings have is up to 1.2; without a launch a pause is all that came before."""
_TIMES = re.compile(r"\d[\d.,]* (?:us|ms|s)\b")


@invariant()
def the_sentence_is_short_and_has_the_figures(case: Case) -> None:
    verdict = case.report.verdict
    assert len(verdict.sentence.split()) <= WORDS, verdict.sentence
    figures = [verdict[name] for name in Verdict.__struct_fields__]
    figures += [finding.once_us for finding in case.data.findings]
    known = {format_us(figure) for figure in figures if isinstance(figure, float)}
    assert set(_TIMES.findall(verdict.sentence)) <= known, verdict


@invariant()
def a_verdict_is_on_the_step_that_is_replayed(case: Case) -> None:
    verdict, simulator = case.report.verdict, case.simulator
    if simulator.refused:
        assert (verdict.bound, verdict.step_us) == ("unknown", None)
    else:
        assert verdict.step_us == simulator.recorded.step / 1000
    assert (verdict.device_us is None) == (
        bool(simulator.refused) or not len(simulator.window.events)
    )


@invariant()
def the_longer_side_decides(case: Case) -> None:
    verdict = case.report.verdict
    if verdict.host_side_us is None or verdict.margin_us is None or verdict.bound == "unknown":
        return
    device = verdict.device_side_us or 0.0
    longer, shorter = ("host", "data"), ("device", "communication")
    if verdict.host_side_us < device:
        longer, shorter = shorter, longer
    if abs(verdict.host_side_us - device) <= verdict.margin_us or _is_led(case, by=shorter):
        assert verdict.bound == "even"
    else:
        assert verdict.bound in longer


def _is_led(case: Case, by: tuple[str, ...]) -> bool:
    """Whether most of the critical path is of some parts."""
    path = msgspec.structs.asdict(path_time(_without_loading(case)))
    return 2 * sum(path[part] for part in by) > sum(path.values())


def _without_loading(case: Case) -> Prediction:
    return case.simulator.predict(scaled(case.analysis, {"kernel_loading": 0.0}))


@invariant()
def what_happens_once_is_in_no_length(case: Case) -> None:
    """It is what a finding says that happens once, and what a what-if takes out."""
    verdict, simulator = case.report.verdict, case.simulator
    if simulator.refused or verdict.once_us is None:
        return
    once = {each.rule: each.once_us or 0.0 for each in case.data.findings}
    if once.get("kernel-first-use"):
        starting = once.get("loader-wait", 0.0)
        assert verdict.once_us <= at_most(once["kernel-first-use"] + starting)
    later = _without_loading(case)
    assert later.step <= at_most(simulator.unchanged.step)
    if not simulator.starting:
        assert later.step == near(simulator.steady.pace.step)


@invariant(Of.RECORDINGS)
def nothing_takes_longer_alone(case: Case) -> None:
    """Than its side, and that than the step, but for the error of the replay."""
    verdict, simulator = case.report.verdict, case.simulator
    if simulator.refused:
        return
    most = (verdict.step_us or 0.0) + simulator.error / 1000 + ROUNDING_US
    for side, parts in (
        (verdict.host_side_us, (verdict.host_us, verdict.data_us)),
        (verdict.device_side_us, (verdict.device_us, verdict.communication_us)),
    ):
        assert (side or 0.0) <= most, verdict
        assert all((part or 0.0) <= (side or 0.0) + ROUNDING_US for part in parts), verdict


@invariant(Of.RECORDINGS)
def communication_takes_about_as_long_as_its_collectives(case: Case) -> None:
    time = case.data.per_step.communication_device_us if case.data.per_step else None
    if time and not case.name.startswith("gpu.late_rank"):
        # Of none on a device it is what the host waits; gloo's copies alone are on a device.
        alone = case.report.verdict.communication_us or 0.0
        assert alone <= PAUSED * time + ROUNDING_US, (alone, time)


@invariant(Of.RECORDINGS)
def what_is_left_of_a_step_is_no_shorter_than_it_takes_alone(case: Case) -> None:
    verdict, simulator = case.report.verdict, case.simulator
    if simulator.refused or simulator.graph.nodes.history.any():
        return  # work from before overlaps with that of the steps
    for what, least in (("kernels", verdict.host_side_us), ("host", verdict.device_side_us)):
        left = simulator.step(scaled(simulator.analysis, {what: 0.0})) / 1000
        assert left >= (least or 0.0) - ROUNDING_US, what


@invariant()
def what_saves_nothing_now_says_what_comes_first(case: Case) -> None:
    for each in case.data.findings:
        assert each.saves_after is None or any("faster first" in text for text in each.caveats)
