from __future__ import annotations

import json

import pytest

from tb_hookview.dryrun.outlets.sarif import sarif
from tb_hookview.dryrun.outlets.text import github, markdown, places, text
from tb_hookview.schema.host import DryRunReport, DrySync


def sync(number: int, step: int, **changes: object) -> DrySync:
    facts: dict[str, object] = {
        "id": number,
        "step": step,
        "phase": "backward",
        "operator": "aten::_index_put_impl_",
        "within": None,
        "node": "IndexBackward0",
        "module": "head",
        "module_class": "Linear",
        "line": "src/train.py:12",
        "file": "/src/train.py",
        "last_line": 13,
        "column": 4,
        "last_column": 9,
        "code": "a | `b`",
        "via": None,
        "forward_line": "src/model.py:3",
        "forward_code": "h = h[m]",
        "stack": [],
        "cause": "sync-mask-index",
        "title": "A mask, counted",
        "fix": "Use 100% where.",
        "reason": "an index is a mask",
        "nbytes": None,
        "certain": True,
        "count": 2,
        "allowed": None,
    }
    return DrySync(**{**facts, **changes})  # type: ignore[arg-type]


@pytest.fixture
def report() -> DryRunReport:
    return DryRunReport(
        program="train.py",
        torch_version="2.13.0",
        python_version="3.11.7",
        devices=1,
        steps=3,
        measured=[1, 2],
        sync_count=4,
        most_per_step=2,
        syncs=[
            sync(0, 0, line="src/train.py:1"),
            sync(1, 1),
            sync(2, 2),
            sync(3, 2, line="src/a.py:5", node=None, forward_line=None, certain=False, count=1),
            sync(4, 2, line=None, last_line=None, allowed="logged", count=1),
        ],
        notes=["streams do nothing"],
        unknown=["what it costs"],
        unused_allowances=["old | line"],
    )


def test_places_are_those_of_measured_steps(report: DryRunReport) -> None:
    assert [(place.sync.id, place.total) for place in places(report)] == [(1, 4), (4, 1), (3, 1)]


def test_every_form_says_what_is_not_known_and_not_needed(report: DryRunReport) -> None:
    for written in (text(report), markdown(report), github(report), sarif(report, "1")):
        assert "what it costs" in written
    for written in (text(report), markdown(report), github(report)):
        assert "any more: " in written
        assert "2 times per step, at 1 place" in written


def test_text_names_place_cause_and_fix(report: DryRunReport) -> None:
    lines = text(report).splitlines()
    assert "    2 per step  src/train.py:12" in lines
    assert "                allowed: logged" in lines
    assert any("in the backward of src/model.py:3: h = h[m]" in line for line in lines)
    assert "sync-mask-index: Use 100% where." in lines


def test_markdown_escapes_what_would_break_a_table(report: DryRunReport) -> None:
    row = next(line for line in markdown(report).splitlines() if "train.py:12" in line)
    assert row.replace("\\|", "").count("|") == 7
    assert "`` a \\| `b` ``" in row


def test_annotations_escape_what_ends_them(report: DryRunReport) -> None:
    first = github(report).splitlines()[0]
    assert first.startswith(
        "::warning file=src/train.py,line=12,endLine=13,title=A mask%2C counted::2 per step: "
    )
    assert first.endswith("Use 100%25 where.")


def test_sarif_puts_each_place_on_its_line(report: DryRunReport) -> None:
    run = json.loads(sarif(report, "1.2.3"))["runs"][0]
    first, allowed, uncertain = run["results"]
    region = first["locations"][0]["physicalLocation"]
    assert region["artifactLocation"] == {"uri": "src/train.py"}
    assert (region["region"]["startLine"], region["region"]["endLine"]) == (12, 13)
    related = first["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "src/model.py"
    assert (first["level"], uncertain["level"], allowed["locations"]) == ("warning", "note", [])
    assert allowed["suppressions"][0]["justification"] == "logged"
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "sync-mask-index"
