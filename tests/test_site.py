"""The pages of docs/ and the records as a site: complete, linked, nothing from another host."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click import Context

import tb_hookview
from tb_hookview.cli import main
from tb_hookview.rules.catalogue import RULES

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RECORDED = ROOT / "sample_traces" / "cpu"
"""Recordings that the stories are about."""
BUILDER = ROOT / ".venv" / "docs" / "bin" / "mkdocs"
RESULTS = ROOT / "benchmarks" / "results"
"""Records of measurements, which the site has too."""
PAGES = sorted([*DOCS.rglob("*.md"), *RESULTS.glob("*.md")])
_LINK = re.compile(r"\]\(([\w./-]*)(?:#([\w-]+))?\)")
_COMMAND = re.compile(
    r"(?:^ *|[`>] ?|\$ )hookview (?!is )([a-z]+(?:-[a-z]+)*)\b([^`\n|#]*)", re.MULTILINE
)
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
TEXTS = [
    ROOT / "README.md",
    *PAGES,
    *sorted(DOCS.glob("notebooks/*.ipynb")),
    *sorted((ROOT / "sample_traces").rglob("*.md")),
]
"""Pages that name commands."""
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def module(name: str) -> Any:
    """A module of docs/site/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", DOCS / "site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@cache
def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as the site and code hosts make them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in _HEADING.findall(text))
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def broken(text: str, here: Path) -> list[str]:
    """Links of a page's text that lead to no file or heading."""
    links = [
        (here.parent.joinpath(path).resolve() if path else here, path, anchor)
        for path, anchor in _LINK.findall(_FENCE.sub("", text))
    ]
    return [
        f"{path}#{anchor}" if anchor else path
        for page, path, anchor in links
        if not page.exists() or (anchor and anchor not in anchors(page))
    ]


def unknown_options(text: str) -> list[str]:
    """Commands and options of `hookview` that a text names and the program does not have."""
    found = []
    for name, rest in _COMMAND.findall(text.replace("\\n", "\n")):
        if (command := main.get_command(Context(main), name)) is None:
            found.append(name)
            continue
        rest = re.split(r"\S+\.py\b|-m ", rest)[0] if name in {"run", "dry-run"} else rest
        known = {option for parameter in command.params for option in parameter.opts}
        known |= {"--help"}
        found += [f"{name} {option}" for option in _OPTION.findall(rest) if option not in known]
    return found


def on_the_site(page: Path) -> str:
    """Where the site has a page."""
    return f"results/{page.name}" if page.parent == RESULTS else page.relative_to(DOCS).as_posix()


def test_the_navigation_has_every_page_once() -> None:
    text = (DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"^ +- (?:.+: )?([\w/-]+\.md)$", text.split("\nnav:\n")[1], re.MULTILINE)
    assert sorted(named) == sorted(map(on_the_site, PAGES))


def test_the_first_page_names_every_other_and_the_page_on_trust_every_record() -> None:
    first = (DOCS / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| \[`[\w-]+\.md`\]\(([\w/-]+\.md)\) \|", first, re.MULTILINE)
    assert sorted([*named, "README.md"]) == sorted(
        path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")
    )
    trust = (DOCS / "explanation" / "trust.md").read_text(encoding="utf-8")
    records = re.findall(r"\]\(\.\./\.\./benchmarks/results/([\w-]+\.md)\)", trust)
    assert set(records) == {path.name for path in RESULTS.glob("*.md")}


def test_links_lead_to_pages_and_headings() -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *PAGES]}
    assert {page: found for page, text in texts.items() if (found := broken(text, page))} == {}
    sql = DOCS / "how-to" / "sql.md"
    assert broken("[a](gone.md) [b](sql.md#gone) [c](../how-to/sql.md#tables)", sql) == [
        "gone.md",
        "sql.md#gone",
    ]


def test_the_decision_tree_ends_in_every_rule() -> None:
    text = (DOCS / "how-to" / "tuning.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(\.\./reference/findings\.md#([\w-]+)\)", text)) == {
        rule.id for rule in RULES
    }


def test_the_reference_has_every_name_of_the_package() -> None:
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: tb_hookview\.(\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(tb_hookview.__all__)


def test_the_page_of_commands_has_a_row_for_each() -> None:
    text = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `hookview ([\w-]+)", text, re.MULTILINE)
    assert sorted(named) == sorted(main.list_commands(Context(main)))


def test_commands_and_options_in_the_pages_exist() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in TEXTS}
    assert {page: found for page, text in texts.items() if (found := unknown_options(text))} == {}
    assert unknown_options("`hookview check runs --max-step-us 5`") == ["check --max-step-us"]


def test_links_get_titles_records_their_place_and_pictures_a_dark_one() -> None:
    files = [
        SimpleNamespace(src_uri=f"{room}/{name}.md", page=SimpleNamespace(title=title))
        for room, name, title in (("how-to", "sql", "SQL"), ("results", "rules", "Rules"))
    ]
    files += [SimpleNamespace(src_uri="screenshots/a-dark.png", page=None)]
    here = SimpleNamespace(file=SimpleNamespace(src_uri="reference/views.md"))
    text = (
        "[`rules.md`](../../benchmarks/results/rules.md) [`sql.md`](../how-to/sql.md) "
        "[`gone.md`](gone.md) [own](../how-to/sql.md)\n```\n[`sql.md`](../how-to/sql.md)\n```\n"
        "![x](../screenshots/a.png)"
    )
    changed = module("links").on_page_markdown(text, page=here, files=files)
    assert changed == (
        "[Rules](../results/rules.md) [SQL](../how-to/sql.md) "
        "[`gone.md`](gone.md) [own](../how-to/sql.md)\n```\n[`sql.md`](../how-to/sql.md)\n```\n"
        "![x](../screenshots/a.png#only-light)![x](../screenshots/a-dark.png#only-dark)"
    )


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ('<script src="https://cdn.example/a.js"></script>', ".html"),
        ('<link rel="stylesheet" href="//fonts.example/css">', ".html"),
        ('<img srcset="https://a.example/1.png 1x">', ".html"),
        ('<svg><image href="https://a.example/1.png"/></svg>', ".svg"),
        ('<pre class="mermaid"><code>graph LR</code></pre>', ".html"),
        ("@import 'https://fonts.example/css';", ".css"),
        ("a { background: url(https://a.example/1.png) }", ".css"),
    ],
)
def test_what_another_host_would_serve_is_noticed(text: str, suffix: str) -> None:
    assert len(module("own").loads_elsewhere(text, suffix)) == 1


def test_what_is_ours_or_only_linked_is_not() -> None:
    text = '<link rel="canonical" href="https://a.example/"><a href="https://b.example">b</a>'
    own = '<img src="screenshots/a.png"><script src="assets/a.js"></script>'
    assert module("own").loads_elsewhere(text + own, ".html") == []


@pytest.mark.parametrize("variant", ["before", "after"])
def test_the_story_of_the_backward_says_what_its_recordings_do(variant: str) -> None:
    page = (DOCS / "tutorials" / "story_backward.md").read_text(encoding="utf-8")
    (query,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    (row,) = re.findall(rf"^\| {variant} \| (.*) \|$", page, re.MULTILINE)
    report = tb_hookview.analyze(RECORDED / f"patch_dropout.{variant}")
    (answer,) = json.loads(report.sql(query).to_json())
    assert [str(value) for value in answer.values()] == row.split(" | ")
    coverage = report.data.coverage
    assert coverage.unattributed_host_us < 0.03 * coverage.backward_host_us
    assert len(report.syncs) == 0


@pytest.mark.slow
@pytest.mark.skipif(not BUILDER.exists(), reason="needs MkDocs: make docs")
def test_the_site_builds_and_loads_nothing_from_another_host(tmp_path: Path) -> None:
    build = [BUILDER, "build", "--config-file", DOCS / "site" / "mkdocs.yml"]
    build += ["--strict", "--quiet", "--site-dir", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True)
    check = [sys.executable, DOCS / "site" / "own.py", tmp_path]
    subprocess.run(check, check=True)


def test_the_code_of_the_first_steps_has_the_finding_and_its_fix_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install torch")
    page = (DOCS / "tutorials" / "start.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (fixed,) = re.findall(r"```\n(validation\.append\(.*\))\n```", page)
    (mistake,) = re.findall(r"validation\.append\(.*\)", code)
    repaired = code.replace(mistake, fixed).replace("runs/first", "runs/second")
    monkeypatch.chdir(tmp_path)
    for text in (code, repaired):
        names: dict[str, Any] = {}
        exec(compile(text, "train.py", "exec"), names)
        for wrapped in (names["model"], names["loss_fn"]):
            tb_hookview.unwrap(wrapped)
    found = [tb_hookview.analyze(f"runs/{run}").findings for run in ("first", "second")]
    # A machine that is busy may add times in which no operator ran.
    rules = [{finding.rule for finding in findings} - {"python-time"} for findings in found]
    assert rules == [{"memory-growth"}, set()]
