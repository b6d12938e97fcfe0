"""Findings on traces that others recorded: figures and remedies derived from the events by hand."""

from __future__ import annotations

import functools

import pytest
from support.loaded import loaded

from tb_hookview.analysis.selection import select
from tb_hookview.rules.diagnosis import find_all
from tb_hookview.schema import Finding


@functools.cache
def _findings(name: str) -> list[Finding]:
    selection = select(loaded(name), None)
    return [found.finding for found in find_all(selection)]


def finding(name: str, rule: str) -> Finding:
    """The only finding of a rule on a trace."""
    (found,) = [each for each in _findings(name) if each.rule == rule]
    return found


def rules_on(name: str) -> set[str]:
    """Rules that find something on a trace."""
    return {each.rule for each in _findings(name)}


def test_attention_over_an_odd_number_of_tokens_is_one_problem() -> None:
    attention = finding("tracelens_h100_owlv2", "attention-unfused")
    assert attention.cost_us_per_step == pytest.approx(229_680 + 262_825, rel=1e-3)
    assert "over 5 to 5185 keys" in attention.evidence
    assert "360 kernels that load less than 16 bytes at once" in attention.evidence
    assert "matmul-misaligned" not in rules_on("tracelens_h100_owlv2")


def test_copies_ahead_of_the_first_product_are_no_attention() -> None:
    attention = finding("tracelens_mi300_timesformer", "attention-unfused")
    assert attention.cost_us_per_step == pytest.approx(98_006 - 3_087, rel=1e-3)


def test_the_size_that_does_not_fit_is_named() -> None:
    assert "(columns 30522)" in finding("tracelens_h100_bert_small", "matmul-misaligned").evidence


@pytest.mark.slow
def test_a_collective_for_each_parameter() -> None:
    """404 all-reduces from first to last in 129.0, 119.6, 121.5 and 123.7 ms of four steps."""
    reduced = finding("hta_v100_df", "collective-per-parameter")
    assert reduced.evidence.startswith("404 all-reduces per step for 404 gradients, 404 of them")
    assert "123 ms per step" in reduced.evidence
    assert reduced.cost_us_per_step == pytest.approx(
        (67_076 + 57_518 + 59_515 + 3_408) / 4, rel=1e-2
    )


@pytest.mark.slow
def test_steps_in_which_communication_differs() -> None:
    exposed = finding("hta_v100_df", "comm-exposed")
    assert "of a step (59.5 ms to 119 ms) nothing" in exposed.evidence
    assert "collective-per-parameter" in exposed.fix


@pytest.mark.slow
def test_the_remedy_for_embeddings_that_are_exchanged() -> None:
    for name in ("hta_sampled_rank-0", "hta_a100_cuda_graphs", "hta_a100_dlrm"):
        exposed = finding(name, "comm-exposed")
        assert "all-to-all" in exposed.evidence
        assert "no_sync" not in exposed.fix
        assert "TrainPipelineSparseDist" not in exposed.fix, "they exchange ahead already"


def test_reads_of_split_sizes_are_told_by_their_annotation() -> None:
    """20 reads and 30 copies in the five measured steps."""
    for name in ("hta_a100_dlrm", "hta_v100_training"):
        for each in _findings(name):
            if each.rule in ("sync-scalar-item", "sync-d2h-copy"):
                assert "## sparse_data_dist ##" in each.evidence
                assert each.fix.startswith("Keep sizes, splits and indices on the host")


def test_truth_values_that_are_read_while_splits_are_made() -> None:
    for name in ("hta_sampled_rank-0", "hta_sampled_rank-1"):
        read = finding(name, "sync-scalar-item")
        assert "under ## sdd_preprocess_splits ##" in read.evidence
        assert "torch.where" in read.fix


def test_a_library_that_tests_a_mask() -> None:
    for name in ("tracelens_h100_bert_small", "tracelens_mi300_bert_small", "tracelens_h100_qwen"):
        assert "pass no mask" in finding(name, "sync-bool-branch").fix


@pytest.mark.slow
def test_a_read_after_which_nothing_is_launched() -> None:
    for name in ("tracelens_mi300_timesformer", "tracelens_mi300_sd35"):
        assert "nothing is launched after it" in finding(name, "sync-d2h-copy").evidence


def test_memory_is_that_of_the_device_that_ran() -> None:
    """ROCm numbers it 2, torch's allocator 0."""
    for name in ("tracelens_mi300_bert_small", "tracelens_mi300_vllm_graph_capture"):
        assert finding(name, "memory-near-limit-or-idle").where == "device 2"


def test_a_larger_batch_is_no_remedy_for_loading_or_first_use() -> None:
    for name in ("tracelens_h100_owlv2", "tracelens_mi300_timesformer"):
        assert "memory-near-limit-or-idle" not in rules_on(name)


@pytest.mark.slow
def test_the_remedy_for_small_copies() -> None:
    for name in ("hta_a100_cuda_graphs", "tracelens_mi300_sd35"):
        assert finding(name, "h2d-pageable-blocking").fix.startswith("Keep constants")
