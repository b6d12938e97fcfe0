"""What is known of a rule without a trace."""

from __future__ import annotations

import numpy as np

from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.schema.findings import RuleInfo

SEEN = Rule(
    id="a-rule",
    family="memory",
    title="A title",
    description="what holds",
    fix="Do this.",
    reference="https://example.org",
    confidence="low",
    find=lambda _: [],
    advice=("other", "third"),
)


def test_a_rule_is_described_with_all_that_it_says() -> None:
    assert SEEN.described() == RuleInfo(
        id="a-rule",
        family="memory",
        title="A title",
        visible=True,
        matches="what holds",
        fix="Do this.",
        reference="https://example.org",
        confidence="low",
        advice=["other", "third"],
    )


def test_a_rule_is_visible_if_it_explains_syncs_or_finds_places() -> None:
    def none(context: Context) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.zeros(len(context.syncs), bool)

    text = ("id", "sync", "Title", "description", "Fix.", "reference")
    assert Rule(*text, explains=none).visible
    assert Rule(*text, find=lambda _: []).visible
    assert not Rule(*text).visible
    assert Rule(*text).described().confidence == "high"


def test_an_occurrence_claims_nothing_unless_it_says_so() -> None:
    plain = Occurrence("there", "seen")
    assert (plain.count, plain.saved, plain.claims_gain) == (None, 1.0, True)
    assert (len(plain.gaps), len(plain.wasted)) == (0, 0)
