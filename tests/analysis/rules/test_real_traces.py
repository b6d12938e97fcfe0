"""Rules on traces that others recorded: what holds of every finding, and which rules fire where.

`docs/rules.md` says of each of them why it is right; a rule that fires where it is not listed is a
false alarm until somebody has looked.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import shared_traces

from tb_hookview.analysis import analyze
from tb_hookview.analysis.rules import RULES
from tb_hookview.analysis.schema import PROFILER, ReportData

pytestmark = pytest.mark.skipif(
    not shared_traces.FOLDER.is_dir(), reason="no ../shared/traces beside the checkout"
)

WAITS = {
    "hta_a100_alexnet_sync_events": {"sync-explicit"},
    "hta_a100_cuda_graphs_rank0": {"sync-d2h-copy"},
    "hta_a100_cupti_ranges": {"sync-explicit"},
    "hta_a100_event_sync.json": {"sync-bool-branch"},
    "hta_a100_overlaid_critical_path": {"sync-explicit"},
    "hta_mtia_inference": {"sync-explicit"},
    "hta_sampled_rank": {"sync-d2h-copy", "sync-scalar-item"},
    "hta_v100_training": {"sync-d2h-copy", "sync-scalar-item"},
    "tracelens_h100_bert_small": {"sync-bool-branch"},
    "tracelens_h100_qwen": {"sync-bool-branch"},
    "tracelens_mi300_bert_small": {"sync-bool-branch"},
    "tracelens_mi300_sd35": {"sync-d2h-copy", "sync-nonzero-variable-shape", "sync-scalar-item"},
    "tracelens_mi300_vllm": {"sync-explicit"},
}
"""Rules about waits, less `sync-in-operator`, by the beginning of the trace's name."""


@pytest.mark.parametrize("path", shared_traces.all_traces(), ids=lambda path: path.name)
def test_findings(path: Path) -> None:
    data = analyze(path).data
    check_findings(data)
    name = path.relative_to(shared_traces.FOLDER).as_posix()
    expected = next((rules for begin, rules in WAITS.items() if name.startswith(begin)), set())
    families = {rule.id: rule.family for rule in RULES}
    fired = {finding.rule for finding in data.findings if families[finding.rule] == "sync"}
    assert fired - {"sync-in-operator"} == expected


def check_findings(data: ReportData) -> None:
    rules = {rule.id for rule in RULES if rule.visible}
    assert {sync.cause for sync in data.syncs} <= rules | {PROFILER}
    assert {finding.rule for finding in data.findings} <= rules
    costs = [finding.cost_us_per_step or 0.0 for finding in data.findings]
    assert costs == sorted(costs, reverse=True)
    starts = {sync.start_us: sync for sync in data.syncs}
    for finding, cost in zip(data.findings, costs, strict=True):
        assert cost >= 0
        assert (finding.gain_us_per_step or 0.0) <= cost
        assert 0 < len(finding.examples) <= 20 or not finding.rule.startswith("sync-")
        if finding.rule.startswith("sync-") and finding.rule != "sync-batchnorm":
            assert all(starts[start].cause == finding.rule for start in finding.examples)
            assert all(starts[start].module == finding.module for start in finding.examples)
