"""The same program on an H100 and an MI300X: the same findings, or a reason in the evidence."""

from __future__ import annotations

import pytest
from support.loaded import reported

from tb_hookview.report.result import Report
from tb_hookview.schema import SMALL, Finding

ON_ONE: dict[str, dict[str, tuple[str, str]]] = {
    # 4% of the step on the MI300X's host, after the last device event; 4 ms on the H100's.
    "owlv2": {"host-work": ("mi300", "was in postprocess in zero_shot_object_detection.py(194)")},
    # 9.7% of the step on the MI300X, whose kernels are shorter; 3.6% on the H100, below the limit.
    "qwen": {"launch-queue-shallow": ("mi300", "for 3.27 ms per step the device waited")},
    # Only cuBLAS writes the alignment of its loads into names.
    "bert_small": {"matmul-misaligned": ("h100", "1 in 1 step by their names")},
}
"""Rules that find something on one device alone: which, and a phrase of the evidence."""


def found_by(report: Report) -> dict[str, list[Finding]]:
    by_rule: dict[str, list[Finding]] = {}
    for finding in report.data.findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    return by_rule


def worth(report: Report) -> list[str]:
    """Rules whose findings shorten a step, what saves most first."""
    least = SMALL * (report.verdict.step_us or 0.0)
    rows = report.data.findings
    return list(dict.fromkeys(row.rule for row in rows if (row.gain_us_per_step or 0.0) > least))


@pytest.mark.parametrize(
    "program", ["bert_small", "qwen", pytest.param("owlv2", marks=pytest.mark.slow)]
)
def test_two_devices_have_the_same_findings_or_a_reason(program: str) -> None:
    reports = {each: reported(f"tracelens_{each}_{program}") for each in ("h100", "mi300")}
    expected = ON_ONE[program]
    found = {device: found_by(report) for device, report in reports.items()}
    assert set(found["h100"]) ^ set(found["mi300"]) == set(expected)
    for rule, (device, phrase) in expected.items():
        assert phrase in found[device][rule][0].evidence
    shared = [[r for r in worth(reports[each]) if r not in expected] for each in reports]
    assert set(shared[0][:1]) == set(shared[1][:1])
    bounds = {report.verdict.bound for report in reports.values()}
    assert len(bounds) == 1
