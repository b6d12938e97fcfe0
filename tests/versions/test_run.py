"""The page that `make versions` writes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest

SCRIPT = Path(__file__).with_name("run.py")


@pytest.fixture(scope="module")
def run():
    spec = importlib.util.spec_from_file_location("versions_run", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = """
<testsuite>
  <testcase classname="a" name="one"/>
  <testcase classname="a" name="two"><failure message="no&#10;1 == 2"/></testcase>
  <testcase classname="a" name="three"><error message="no"/></testcase>
  <testcase classname="a" name="four"><skipped message="Skipped: timm is not installed"/></testcase>
  <testcase classname="a" name="five"><skipped message="Skipped: timm is not installed"/></testcase>
  <testcase classname="" name="tests.b"><skipped message="collection skipped"
    >('b.py', 18, 'Skipped: no validator')</skipped></testcase>
</testsuite>
"""


def test_outcomes_are_counted_and_named(run):
    assert run.outcomes(ElementTree.fromstring(CASES).iter("testcase")) == {
        "passed": 1,
        "failed": {"a::two": "no", "a::three": "no"},
        "skipped": {"timm is not installed": 2, "no validator": 1},
    }


def result(version, share=1.0):
    tests = {"passed": 7, "failed": {"a::two": "no"}, "skipped": {"no timm": 2}}
    facts = {"torch": version, "python": "3.11.7", "date": "2026-11-22"}
    return {**facts, "cases": {"eager": share, "other": 1.0}, "tests": tests}


def rows(page):
    return [line for line in page.splitlines() if line.startswith("| 2.")]


def test_versions_are_in_order_and_what_is_wrong_is_listed(run):
    page = run.updated("", result("2.10.0+cu1"), result("2.4.1", "OSError: x"))
    assert rows(page) == [
        "| 2.4.1 | 3.11.7 | 1 of 2 | 100.0% | 7 | 1 | 2 | 2026-11-22 |",
        "| 2.10.0 | 3.11.7 | 2 of 2 | 100.0% | 7 | 1 | 2 | 2026-11-22 |",
    ]
    assert page.count("- failed: `a::two`: no") == 2
    assert '- case "eager": OSError: x' in page
    assert "- skipped (2): no timm" in page


def test_a_page_keeps_what_it_says_of_versions_that_were_not_run(run):
    both = run.updated("", result("2.4.1"), result("2.10.0"))
    assert run.updated(run.updated("", result("2.10.0")), result("2.4.1")) == both
    again = run.updated(both, result("2.10.1", 0.5))
    assert [line[2:8].strip() for line in rows(again)] == ["2.4.1", "2.10.1"]
    assert again.partition("### 2.10")[0].count("### 2.4.1\n\n- failed: `a::two`: no") == 1
    assert '### 2.10.1\n\n- case "eager": 50.0%' in again


def test_the_page_of_the_documentation_is_read_as_it_was_written(run):
    page = (run.ROOT / "benchmarks" / "results" / "compatibility.md").read_text()
    found = run.known(page)
    assert len(rows(page)) == len(found) == page.count("\n### ")
    assert all(line in page.splitlines() for lines in found.values() for line in lines)


def test_what_the_tests_need_is_found_in_pyproject(run):
    lines = (run.ROOT / "pyproject.toml").read_text().splitlines()
    found = [match[1] for line in lines if (match := run.NEEDED.match(line))]
    assert {text.partition(">")[0] for text in found} == {
        *("click", "flask", "isal", "msgspec", "perfetto", "platformdirs", "rich", "werkzeug")
    }
