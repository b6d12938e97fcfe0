"""`hookview rules`."""

from __future__ import annotations

import json

from support.command import call

from tb_hookview.rules.catalogue import RULES


def test_every_rule_is_listed_with_its_fix() -> None:
    done = call("rules")
    assert (done.returncode, done.stderr) == (0, "")
    words = " ".join(done.stdout.split())
    for rule in RULES:
        assert f"{rule.id} {rule.title}" in words
        for text in (rule.description, rule.fix, rule.reference):
            assert all(word in words for word in text.split())


def test_json_holds_all_of_it() -> None:
    listed = json.loads(call("rules", "--json").stdout)
    assert [rule["id"] for rule in listed] == [rule.id for rule in RULES]
    assert listed[0]["fix"] == RULES[0].fix
    assert set(listed[0]) >= {"id", "family", "title", "matches", "fix", "reference", "confidence"}


def test_one_in_full() -> None:
    done = call("rules", "sync-scalar-item")
    assert done.stdout.startswith("sync-scalar-item")
    assert "confidence high" in done.stdout
    assert "sync-explicit" not in done.stdout


def test_a_rule_that_is_not_there_is_one_line() -> None:
    done = call("rules", "sync-nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "hookview: no rule 'sync-nothing'; `hookview rules` lists them\n"
