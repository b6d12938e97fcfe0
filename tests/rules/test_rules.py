"""What holds for every rule: declared once, complete, tested."""

from __future__ import annotations

import re
from pathlib import Path

from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine import rule

FOLDER = Path(rule.__file__).parents[1]
TESTS = Path(__file__).parent


def test_every_rule_that_is_written_is_in_the_table_under_its_name() -> None:
    files = [path for path in FOLDER.rglob("*.py") if path.name != "advice.py"]
    names = [
        name for path in files for name in re.findall(r"(?m)^(\w+) = Rule\(", path.read_text())
    ]
    visible = [each.id.replace("-", "_").upper() for each in RULES if each.visible]
    of_hosts = names.count("RULE")  # those of a file of their own are named by it
    own = {
        path.stem.upper() for path in files if re.search(r"(?m)^RULE = Rule\(", path.read_text())
    }
    assert len(own) == of_hosts
    assert sorted(visible) == sorted([*own, *(name for name in names if name != "RULE")])
    assert len({each.id for each in RULES}) == len(RULES)


def test_a_rule_says_all_it_should() -> None:
    invisible = {each.id for each in RULES if not each.visible}
    for each in RULES:
        texts = (each.title, each.description, each.fix, each.reference, each.family)
        assert all(texts), each.id
        assert each.fix.endswith((".", ")")), each.id
        assert not each.title.endswith("."), each.id
        assert set(each.advice) <= invisible, each.id


def test_a_rule_that_can_fire_has_tests() -> None:
    """One that must fire it, and a near miss."""
    for each in RULES:
        if each.visible:
            (file,) = TESTS.rglob(f"test_{each.id.replace('-', '_')}.py")
            assert file.read_text().count("def test_") >= 2, each.id


def test_what_no_trace_shows_is_advice_of_something() -> None:
    named = {advice for each in RULES for advice in each.advice}
    assert {each.id for each in RULES if not each.visible} <= named


def test_the_rule_that_explains_all_syncs_comes_last_of_those_that_explain_any() -> None:
    explaining = [each.id for each in RULES if each.explains is not None]
    assert explaining[-1] == "sync-in-operator"
