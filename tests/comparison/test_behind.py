"""Steps that the host leaves before the device has done their work, next to what was timed."""

from __future__ import annotations

import gallery
import msgspec
import pytest

from tb_hookview.cli.checks import regression_percent, step_ms
from tb_hookview.comparison.compare import compare
from tb_hookview.comparison.document import comparison_document
from tb_hookview.document.plain import plain_text
from tb_hookview.loading import analyze

FOLDER = gallery.FOLDER.with_name("gpu")
NEAR = 0.05


def timed_ms(scenario: str, variant: str) -> float:
    measured = msgspec.json.decode((FOLDER / "measured.json").read_bytes())
    return float(measured["scenarios"][scenario]["variants"][variant]["step_ms"])


@pytest.mark.parametrize(
    ("scenario", "variant"), [("precision", "fp32"), ("pageable_copy", "after")]
)
def test_a_step_lasts_until_its_device_work_is_done(scenario: str, variant: str) -> None:
    report = analyze(FOLDER / f"{scenario}.{variant}")
    data, timed = report.counted.data, timed_ms(scenario, variant)
    assert (data.per_step.duration_us or 0.0) / 1000 < 0.6 * timed
    found = step_ms(report, timed)
    assert found.what == "median step on the device"
    assert found.value == pytest.approx(timed, rel=NEAR)


def test_changes_are_those_of_the_whole_step() -> None:
    before, after = (analyze(FOLDER / f"pageable_copy.{side}") for side in ("before", "after"))
    times = [timed_ms("pageable_copy", side) for side in ("before", "after")]
    changed = compare(before.counted.data, after.counted.data)
    assert changed.speedup == pytest.approx(times[0] / times[1], rel=NEAR)
    text = plain_text(comparison_document(changed))
    assert "step, on the device" in text
    assert "step, on the host" in text
    found = regression_percent(before, after, 0)
    assert found.value == pytest.approx(100 * (times[0] / times[1] - 1), rel=2 * NEAR)
    assert not found.holds
