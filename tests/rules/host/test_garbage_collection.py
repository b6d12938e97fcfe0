"""`garbage-collection`."""

from __future__ import annotations

from pathlib import Path

from rules.cpu import findings, operator, step

from tb_hookview import markers

RULE = "garbage-collection"


def test_a_collection_in_a_step(tmp_path: Path) -> None:
    collection = operator(f"{markers.COLLECTION}2", 3000, 700)
    found = findings(tmp_path, [step(4000), operator("aten::mm", 1001, 1900), collection])
    (finding,) = found[RULE]
    assert finding.cost_us_per_step == finding.gain_us_per_step == 700
    assert finding.evidence.startswith("1 collection in 1 step take 700 us per step, 17.5% of it")


def test_a_short_one(tmp_path: Path) -> None:
    collection = operator(f"{markers.COLLECTION}1", 3000, 30)
    assert RULE not in findings(tmp_path, [step(4000), collection])


def test_it_is_no_python_between_operators(tmp_path: Path) -> None:
    rows = [operator("aten::mm", 1001, 1999), operator("aten::mm", 3701, 1299)]
    collection = operator(f"{markers.COLLECTION}2", 3000, 701)
    assert "python-time" not in findings(tmp_path, [step(4000), *rows, collection])
