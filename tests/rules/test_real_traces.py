"""Rules on traces that others recorded: what holds of every finding, and which rules fire where.

`docs/rules.md` says of each of them why it is right; a rule that fires where it is not listed is a
false alarm until somebody has looked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import shared_traces

from tb_hookview.loading import analyze
from tb_hookview.rules.catalogue import RULES
from tb_hookview.schema import PROFILER, ReportData

pytestmark = pytest.mark.skipif(
    not shared_traces.FOLDER.is_dir(), reason="no ../shared/traces beside the checkout"
)

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
ALIASES = {
    "bert": ("tracelens_h100_bert_small", "tracelens_mi300_bert_small"),
    "benchmarks": ("hta_a100_alexnet_sync_events", "hta_a100_overlaid_critical_path"),
    "graphs": ("hta_a100_cuda_graphs_rank0",),
    "dlrm": ("hta_a100_dlrm_trace_diff_control",),
    "df_index": ("hta_v100_df_index_resolver",),
    "v100": ("hta_v100_training",),
    "kineto_2020": ("kineto_2020_resnet50_list_root",),
    "resnet50": ("kineto_resnet50_num_workers_0", "kineto_resnet50_num_workers_4"),
    "resnet50_0": ("kineto_resnet50_num_workers_0",),
    "sampled": ("hta_sampled_rank-0", "hta_sampled_rank-1"),
    "checkpointing": ("tracelens_mi300_resnet_checkpointing_ddp",),
    "vllm": ("tracelens_mi300_vllm_graph_capture", "tracelens_mi300_vllm_graph_execution"),
}
"""Parts of the names of several traces, or a short word for a long name."""

FIRES = """
    sync-bool-branch             bert qwen hta_a100_event_sync.
    sync-d2h-copy                graphs sampled v100 sd35 dlrm owlv2 timesformer
    sync-explicit                benchmarks vllm cupti mtia_inference piecewise
    sync-in-operator             cupti
    sync-nonzero-variable-shape  sd35
    sync-scalar-item             sampled v100 sd35 dlrm

    loader-single-process        resnet50_0 kineto_2020 owlv2

    create-on-cpu-then-move      minitoy
    device-layout-copies         graphs v100 dlrm
    h2d-many-small               owlv2
    h2d-pageable-blocking        resnet50 graphs sd35 kineto_2020 owlv2 timesformer
    pin-memory-inline            v100 dlrm

    memory-near-limit-or-idle    bert vllm_graph_capture normalization owlv2 timesformer
    recompute-overhead           checkpointing

    graph-pause                  graphs
    launch-queue-shallow         minitoy bert nccl b200 mtia_training sd35 df_index

    attention-unfused            sd35 owlv2 timesformer
    conv-layout-transpose        mi210 nccl checkpointing
    gpu-low-utilization          minitoy bert nccl b200 kineto_2020 normalization owlv2
    pointwise-unfused            qwen
    tiny-kernels-launch-bound    bert b200 df_index

    optimizer-single-tensor      resnet50 mtia_training kineto_2020 df_index
    zero-grad-fill               resnet50 kineto_2020 df_index

    fp64-kernels                 graphs dlrm
    matmul-misaligned            h100_bert sampled graphs dlrm owlv2
    tensor-cores-unused          resnet50 v100 df_index
    tf32-disabled                benchmarks multi_stream

    eager-compile-candidate      bert qwen

    comm-exposed                 sampled graphs checkpointing dlrm df_index
    ddp-bucket-or-unused         nccl checkpointing
    """
"""Rules, and parts of the names of the traces on which they fire; all others are silent there."""


def expected_on(name: str) -> set[str]:
    """Rules that `FIRES` lists for a trace."""
    rows = [line.split() for line in FIRES.splitlines() if line.strip()]
    return {
        rule
        for rule, *traces in rows
        if any(part in name for trace in traces for part in ALIASES.get(trace, (trace,)))
    }


@pytest.mark.parametrize("path", shared_traces.all_traces(), ids=lambda path: path.name)
def test_findings(path: Path) -> None:
    data = analyze(path).data
    check_findings(data)
    name = path.relative_to(shared_traces.FOLDER).as_posix()
    assert {finding.rule for finding in data.findings} == expected_on(name)


def test_the_table_speaks_of_traces_and_rules_that_are_there() -> None:
    names = [
        path.relative_to(shared_traces.FOLDER).as_posix() for path in shared_traces.all_traces()
    ]
    for rule, *traces in (line.split() for line in FIRES.splitlines() if line.strip()):
        assert rule in {each.id for each in RULES}
        for part in (part for trace in traces for part in ALIASES.get(trace, (trace,))):
            assert any(part in name for name in names), part


def test_the_documentation_says_the_same() -> None:
    told: dict[str, set[str]] = {}
    for row in re.findall(r"^\| (?!trace \||---)(.+?) \| (.+?) \|", DOCUMENT.read_text(), re.M):
        for trace in _spelled_out(row[0].replace(" (both spans)", "")):
            told.setdefault(trace, set()).update(row[1].split(", "))
    for path in shared_traces.all_traces():
        name = path.relative_to(shared_traces.FOLDER).as_posix()
        listed = [
            rules for trace, rules in told.items() if name.startswith((f"{trace}.", f"{trace}/"))
        ]
        assert set().union(*listed) == expected_on(name), name


def _spelled_out(cell: str) -> Iterator[str]:
    """Traces of a cell; `hta_sampled_rank-0, -1` and `.._0 and _4` leave out what is the same."""
    last = ""
    for part in re.split(r", | and ", cell):
        last = re.sub(r"[-_]\d+$", "", last) + part if part.startswith(("-", "_")) else part
        yield last


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
