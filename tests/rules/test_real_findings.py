"""Findings on traces that others recorded: figures and remedies derived from the events by hand."""

from __future__ import annotations

import functools

import pytest
import shared_traces

from tb_hookview.loading import analyze
from tb_hookview.schema import Finding


@functools.cache
def _findings(name: str) -> list[Finding]:
    return analyze(shared_traces.shared_trace(name)).data.findings


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
