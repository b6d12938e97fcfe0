"""What a release says of itself in several files is the same in each."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tb_hookview.version import __version__

ROOT = Path(__file__).resolve().parents[1]
RELEASE = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", re.MULTILINE)
PYTHONS = ROOT / "benchmarks" / "results" / "pythons.md"
CHANGELOG = (ROOT / "docs" / "CHANGELOG.md").read_text()
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def pyproject() -> dict[str, Any]:
    if sys.version_info < (3, 11):
        pytest.skip("needs tomllib: run it with Python 3.11 or newer")
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_changelog_begins_with_this_version() -> None:
    releases = RELEASE.findall(CHANGELOG)
    assert releases[0][0] == __version__
    assert releases == sorted(releases, key=_number, reverse=True)
    others = re.findall(r"^## (?!\[\d)(.*)$", CHANGELOG, re.MULTILINE)
    assert others in ([], ["[Unreleased]"])
    assert set(re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE)) <= KINDS


def _number(release: tuple[str, str]) -> list[int]:
    return [int(part) for part in release[0].split(".")]


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "docs" / "CITATION.cff").read_text()
    version, day = RELEASE.findall(CHANGELOG)[0]
    assert f'version: "{version}"' in citation
    assert f'date-released: "{day}"' in citation
    assert f"license: {pyproject()['project']['license']}" in citation


def test_every_python_that_is_promised_runs_the_tests() -> None:
    promised = [
        name.rpartition(" ")[2]
        for name in pyproject()["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
    ]
    assert f">={promised[0]}" == pyproject()["project"]["requires-python"]
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert f"python: [{', '.join(map(repr, promised))}]".replace("'", '"') in workflow
    rows = re.findall(r"^\| (3\.\d+)\.\d+ \|", PYTHONS.read_text(), re.M)
    assert rows == promised


def test_hooks_before_a_commit_run_the_pinned_checkers() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert set(re.findall(r"repo: (\S+)", hooks)) == {"local"}
    pinned = (ROOT / "requirements-dev.txt").read_text()
    for command in re.findall(r"entry: \.venv/bin/(\w+)", hooks):
        assert re.search(rf"^{command}==", pinned, re.MULTILINE), command
