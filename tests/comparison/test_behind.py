"""Steps that the host leaves before the device has done their work, next to what was timed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import gallery
import msgspec
import pytest
from msgspec.structs import replace

from tb_hookview.cli.checks import regression_percent, step_ms
from tb_hookview.comparison.compare import compare
from tb_hookview.comparison.document import comparison_document
from tb_hookview.document.plain import plain_text
from tb_hookview.loading import analyze
from tb_hookview.schema import Bound, Pair, whole_step_us

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


@pytest.mark.parametrize(
    ("bound", "on_device"),
    [("device", True), ("communication", True), ("even", False), ("host", False), ("data", False)],
)
def test_who_decides_a_step_measures_it(bound: Bound, on_device: bool) -> None:
    """The device takes no longer by itself: it waits in between. At its end it is behind."""
    data = analyze(FOLDER / "pageable_copy.after").counted.data
    host, verdict = data.per_step.duration_us, data.verdict
    found = replace(data, verdict=replace(verdict, bound=bound, device_side_us=host))
    assert whole_step_us(found) == (verdict.step_us if on_device else host)
    compared = compare(found, found)
    assert compared.whole_step_us.base == pytest.approx(whole_step_us(found))
    text = plain_text(comparison_document(compared))
    assert "has no steps" not in text
    without = replace(compared, other=replace(compared.other, marked=False))
    assert "The other trace has no steps" in plain_text(comparison_document(without))
    nothing = {**compared.phases_us, "backward": Pair(None, None, None)}
    assert "not attributed" in text
    assert "not attributed" not in plain_text(
        comparison_document(replace(compared, phases_us=nothing))
    )
    found = replace(compared, base=replace(compared.base, step_names=["iteration 2"]))
    assert "Steps of the base trace are iterations found in it" in plain_text(
        comparison_document(found)
    )


def test_without_its_device_events_a_trace_is_compared_on_the_host(tmp_path: Path) -> None:
    (path,) = (FOLDER / "pageable_copy.after").glob("*.pt.trace.json.gz")
    content = json.loads(gzip.decompress(path.read_bytes()))
    work = ("kernel", "gpu_memcpy", "gpu_memset")
    content["traceEvents"] = [row for row in content["traceEvents"] if row.get("cat") not in work]
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    whole, stripped = analyze(path), analyze(tmp_path / "t.json")
    found = compare(whole.counted.data, stripped.counted.data)
    assert found.whole_step_us == found.step_us
    checked = regression_percent(whole, stripped, 0)
    assert checked.what == "change of the median step"
    assert checked.note.endswith(
        "both on the host: the steps of one trace on the device are unknown"
    )
