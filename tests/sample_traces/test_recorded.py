"""The traces that a GPU recorded, as far as they are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sample_traces import measured, recording, validate
from tb_hookview.loading import analyze
from tb_hookview.rules.catalogue import RULES
from tb_hookview.schema import SMALL

FOLDER = Path(validate.__file__).parent / "gpu"
KNOWN = {rule.id for rule in RULES}
VERDICTS = list(validate.verdicts(FOLDER))
OF_A_KIND = 4.0
"""How many times too much or too little a predicted gain may be where the gain is a large one."""
LARGE = 0.1
"""Part of the step that a gain must be for the measurements to say it with certainty."""
NEAR_STEPS = 0.8
"""Part of the estimated steps that are near the timed ones."""
WAITS = {
    "host-work": "the device idled",
    "launch-queue-shallow": "the device waited",
    "tiny-kernels-launch-bound": "since the launch before theirs",
    "pointwise-unfused": "take (3[0-9]|4[0-9])% of the device time launched",
}
"""Rules on a device that waits for its host, which another variant's does not, or not as long.

And on a share of the device's time, 10% of it saved, which only one variant reaches.
"""
ON_ONE = {
    # With the fix the host alone decides.
    "patch_dropout": {"conv-layout-transpose": "% of device work"},
    # The fix pins the batches, and then the device is the bottleneck.
    "pageable_copy": {"h2d-not-overlapped": "at 55.* GB/s"},
    "loader_bound": {
        "conv-layout-transpose": "% of device work",
        "h2d-nonblocking-unpinned": "at 6.* GB/s",
        "h2d-not-overlapped": "at 55.* GB/s",
    },
    # Workers pin the batches.
    "slow_storage": {"h2d-nonblocking-unpinned": "the host spent 1.11 ms per step in them"},
    # A replayed graph leaves the device to decide.
    "launch_bound": {
        "small-grid-low-occupancy": "% of device work",
        "tensor-cores-unused": "% of device work",
        "tf32-disabled": "% of device work",
    },
    # Host and device are nearly even, and there the device is on the critical path.
    "compiled": {
        "tensor-cores-unused": "% of device work",
        "tf32-disabled": "% of device work",
    },
}
"""Rules that save time in one variant of a scenario alone, not expected of it: why, as the evidence
has it."""

pytestmark = pytest.mark.skipif(
    not VERDICTS, reason="no sample_traces/gpu/: on a GPU, python -m benchmarks.on_device"
)
each_verdict = pytest.mark.parametrize(
    "verdict", VERDICTS, ids=lambda verdict: f"{verdict.scenario}-{verdict.variant}"
)


def test_they_are_of_a_gpu_and_small():
    content = measured.read(FOLDER)
    assert {entry["kind"] for entry in content["scenarios"].values()} == {"cuda"}
    sizes = [path.stat().st_size for path in recording.traces(FOLDER)]
    assert max(sizes) <= 2_000_000
    assert sum(sizes) <= 15_000_000


@each_verdict
def test_what_is_wrong_is_found_in_the_right_module(verdict):
    if not verdict.expected:
        pytest.skip("nothing is wrong with it")
    for expected in verdict.expected:
        if not KNOWN & set(expected["any_of"]):
            pytest.skip(f"no rule is called {' or '.join(expected['any_of'])} yet")
    assert verdict.missed == []


@each_verdict
def test_what_was_cured_is_not_found_and_nothing_in_healthy_steps(verdict):
    assert [(finding.rule, finding.where) for finding in verdict.unwanted] == []


def saving(verdict):
    """Findings of a variant that shorten its step, by rule."""
    least = SMALL * (verdict.report.verdict.step_us or 0.0)
    found = verdict.findings
    return {each.rule: each for each in found if (each.gain_us_per_step or 0.0) > least}


@pytest.mark.parametrize("scenario", sorted({each.scenario for each in VERDICTS}))
def test_variants_have_the_same_findings_or_a_reason(scenario):
    first, *others = (each for each in VERDICTS if each.scenario == scenario)
    variants = (first, *others)
    expected = {rule for each in variants for one in each.expected for rule in one["any_of"]}
    reasons = WAITS | ON_ONE.get(scenario, {})
    for other in others:
        left, right = saving(first), saving(other)
        for rule in (set(left) ^ set(right)) - expected:
            assert rule in reasons, f"{other.variant}: {rule}"
            assert re.search(reasons[rule], (left | right)[rule].evidence), rule


@each_verdict
def test_predicted_gains_are_like_measured_ones(verdict):
    predicted, gained = verdict.predicted_gain_us, verdict.measured_gain_us
    if predicted is None or gained is None:
        pytest.skip("no gain is predicted or none was measured")
    variants = measured.read(FOLDER)["scenarios"][verdict.scenario]["variants"]
    step_us = variants[verdict.variant]["step_ms"] * 1000
    assert predicted >= 0
    (low, _), after = (
        variants[verdict.variant]["spread_ms"],
        min(
            (each for name, each in variants.items() if name != verdict.variant),
            key=lambda each: each["step_ms"],
        ),
    )
    if low < after["spread_ms"][1]:
        pytest.skip("the quartiles of both steps overlap")
    if gained < LARGE * step_us:
        pytest.skip(f"the measured gain, {gained:.0f} us, is a small part of the step")
    assert gained / OF_A_KIND <= predicted <= gained * OF_A_KIND


def test_estimated_steps_without_recording_are_like_timed_ones():
    near, timed = validate.near_steps(VERDICTS)
    assert near >= NEAR_STEPS * timed, (near, timed)


def test_attribution_is_that_of_modules_timed_alone():
    rows = validate.attribution_rows(FOLDER)
    if not rows:
        pytest.skip("the checks of record.py --overhead were not run yet")
    total = sum(alone for _, _, alone, _ in rows)
    apart = sum(abs(alone - said) for _, _, alone, said in rows)
    assert apart < 0.1 * total, rows


def test_the_recorder_changed_no_gradient():
    checks = measured.read(FOLDER).get("checks", {})
    if "gradients" not in checks:
        pytest.skip("the checks of record.py --overhead were not run yet")
    different = {
        name: each for name, each in checks["gradients"].items() if not each.get("equal", True)
    }
    assert different == {}


def test_a_host_that_waits_in_collectives_is_not_to_launch_less():
    """Gloo copies for it on a thread of its own, which looks like work."""
    verdict = analyze(FOLDER / "late_rank.late" / "rank0.pt.trace.json.gz").verdict
    assert verdict.sentence.endswith("Most of it waits for collectives: compare the ranks.")
