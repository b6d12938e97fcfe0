"""What holds for every rule: declared once, complete, tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine import rule
from tb_hookview.rules.engine.rule import Rule

FOLDER = Path(rule.__file__).parents[1]
TESTS = Path(__file__).parent


def test_every_file_is_a_rule_of_the_table() -> None:
    files = {path.stem for path in FOLDER.rglob("*.py") if "RULE = Rule(" in path.read_text()}
    assert {each.id.replace("-", "_") for each in RULES if each.visible} == files
    assert len({each.id for each in RULES}) == len(RULES)


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.id)
def test_a_rule_says_all_it_should(each: Rule) -> None:
    assert all((each.title, each.description, each.fix, each.reference, each.family))
    assert each.fix.endswith((".", ")"))
    assert not each.title.endswith(".")
    invisible = {other.id for other in RULES if not other.visible}
    assert set(each.advice) <= invisible


@pytest.mark.parametrize("each", [r for r in RULES if r.visible], ids=lambda each: each.id)
def test_a_rule_that_can_fire_has_tests(each: Rule) -> None:
    (file,) = TESTS.rglob(f"test_{each.id.replace('-', '_')}.py")
    text = file.read_text()
    assert text.count("def test_") >= 2, "one that must fire it, and a near miss"


def test_what_no_trace_shows_is_advice_of_something() -> None:
    named = {advice for each in RULES for advice in each.advice}
    assert {each.id for each in RULES if not each.visible} <= named


def test_the_rule_that_explains_all_syncs_comes_last_of_those_that_explain_any() -> None:
    explaining = [each.id for each in RULES if each.explains is not None]
    assert explaining[-1] == "sync-in-operator"
