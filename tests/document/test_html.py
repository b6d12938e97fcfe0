"""A report in a notebook: its numbers, and no name as markup."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser
from pathlib import Path

import grid
import pytest
from support.loaded import reported

from tb_hookview import markers
from tb_hookview.document.html import LONGEST, TABLE_ROWS
from tb_hookview.formats import format_us
from tb_hookview.loading import analyze
from tb_hookview.report.result import Report
from tb_hookview.report.summary.brief import brief_lines

HOSTILE = "<img src=x onerror=alert(1)>\u202e</td></table><script>alert(2)</script>&amp;\"'"
NAMES = {
    "fc": markers.encode("forward", HOSTILE, "k" * 10_000),
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
}
PICTURE = """
    main ops   [fc                   ]
    main ops     [aten::mm seq=4]       [mm' seq=4 F=1]
    """
HARMLESS = {"div", "strong", "br", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi"}


class Shown(HTMLParser):
    """Tags, attributes, and tables as text, of HTML whose tags must match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str | None] = set()
        self.rows: list[list[str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self._open or "th" in self._open:
            self.rows[-1][-1] += data


@pytest.fixture
def hostile(tmp_path: Path) -> Report:
    return analyze(grid.write(tmp_path / "t.json", grid.events(PICTURE, NAMES)))


def test_names_are_text_and_nothing_is_asked_for(hostile: Report) -> None:
    for html in (hostile._repr_html_(), hostile.modules._repr_html_()):
        shown = Shown(html)
        assert shown.tags <= HARMLESS
        assert shown.attributes <= {"style"}
        assert "url(" not in html
        assert "http" not in html
        assert any(cell == HOSTILE for row in shown.rows for cell in row)
        longest = max(len(cell) for row in shown.rows for cell in row)
        assert longest < LONGEST + 30


def test_numbers_are_those_of_the_report() -> None:
    report = reported("tracelens_mi300_resnet_checkpointing_ddp.json.gz")
    shown = Shown(report._repr_html_())
    counted = report.counted
    top = max(counted.modules, key=lambda row: row.backward.self_compute_us or 0)
    mean = (top.backward.self_compute_us or 0) / len(counted.steps)
    assert [top.path, top.module_class, format_us(mean)] in [
        [*row[:2], *row[3:4]] for row in shown.rows
    ]
    (wait,) = report.syncs
    assert ["profiler", wait.api, format_us(wait.duration_us)] in [
        [*row[:2], *row[5:6]] for row in shown.rows
    ]
    titles = [row[1] for row in shown.rows if len(row) > 1]
    for finding in report.findings:
        assert any(title.startswith(finding.title) for title in titles)


def test_terminal_notebook_and_print_hold_the_same() -> None:
    report = reported("tracelens_mi300_resnet_checkpointing_ddp.json.gz")
    printed, html = str(report), report._repr_html_()
    for line in brief_lines(report.data):
        assert line in printed
        assert escape(line) in html
    assert repr(report).count("\n") == 0


def test_a_table_says_how_many_rows_it_leaves_out() -> None:
    report = reported("tracelens_mi300_resnet_checkpointing_ddp.json.gz")
    html = report.modules._repr_html_()
    assert len(Shown(html).rows) == TABLE_ROWS + 1
    assert f"{len(report.modules)} Module rows · {len(report.modules) - TABLE_ROWS} more" in html


def test_what_the_trace_does_not_hold_is_a_dash(hostile: Report, tmp_path: Path) -> None:
    columns = Shown(hostile.modules._repr_html_()).rows
    assert columns[1][columns[0].index("backward.device_us")] == "\N{EN DASH}"
    empty = tmp_path / "empty.json"
    empty.write_text('{"traceEvents": []}')
    assert Shown(analyze(empty)._repr_html_()).rows
    assert Shown(analyze(empty).syncs._repr_html_()).rows
