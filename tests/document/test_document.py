"""One document in every form: the same content, and no name of a trace as anything but text."""

from __future__ import annotations

import io
import re
from html import unescape

import pytest
from rich.console import Console

from tb_hookview.document.document import Document, Lines, Row, Table
from tb_hookview.document.html import document_html
from tb_hookview.document.markdown import MOST_CHARACTERS, NOTE, Page, bounded, markdown
from tb_hookview.document.plain import plain_text
from tb_hookview.document.terminal import rendered

HOSTILE = "a`|<b>[red]\x1b[31m"
TITLE = "A title that is much wider than the table below it, and stays on one line"
TABLE = Table(
    TITLE, ("name", "time"), [(HOSTILE, "3.00 us"), (("what", "how"), "-")], hidden="1 more"
)
DOCUMENT = Document(
    "Title",
    [
        Lines([f"of {HOSTILE}", "the verdict"], bold=1),
        Lines([], "Nothing"),
        TABLE,
        Table("Empty", ("name",), []),
        Lines(["a note"], "Notes", tone="warning"),
    ],
)


def in_terminal(document: Document) -> str:
    console = Console(width=120, file=io.StringIO(), record=True, markup=True)
    console.print(rendered(document))
    return console.export_text()


def as_html(document: Document) -> str:
    return unescape(re.sub("<[^>]*>", "", document_html(document)))


def as_markdown(document: Document) -> str:
    return bounded(lambda _: document, 1)


@pytest.mark.parametrize("write", [in_terminal, plain_text, as_html, as_markdown])
def test_every_form_holds_what_there_is_and_nothing_empty(write: object) -> None:
    assert callable(write)
    text = write(DOCUMENT)
    for said in ("the verdict", TITLE, "3.00 us", "what", "how", "1 more", "a note"):
        assert said in text
    assert "Empty" not in text
    assert "Nothing" not in text


@pytest.mark.parametrize("write", [in_terminal, plain_text, as_markdown])
def test_control_characters_are_escapes(write: object) -> None:
    assert callable(write)
    assert set(filter(lambda letter: not letter.isprintable(), write(DOCUMENT))) == {"\n"}


def test_a_line_that_is_written_to_a_pipe_is_whole() -> None:
    path = "/".join(["folder"] * 9)
    console = Console(width=40, file=io.StringIO(), record=True)
    console.print(
        rendered(Document("", [Lines([f"base: {path} (1 step)"])]), wraps=False), crop=False
    )
    assert console.export_text() == f"base: {path} (1 step)\n"


def test_names_are_no_markup() -> None:
    assert "[red]" in in_terminal(DOCUMENT)
    assert "<b>" not in document_html(DOCUMENT)
    quoted = re.findall(r"`[^`]*`", as_markdown(DOCUMENT))
    assert "`a\\x60\\|<b>[red]\\x1b[31m`" in quoted
    assert "`3.00 us`" not in quoted


def test_rows_that_are_cut_are_counted_and_keep_their_marks() -> None:
    rows: list[Row] = [(str(at),) for at in range(3)]
    table = Table("t", ("n",), rows, highlighted=frozenset([0, 2]))
    cut = table.cut(2)
    assert (cut.rows, cut.hidden, cut.highlighted) == (rows[:2], "... and 1 row more", {0})
    assert table.cut(3) is table
    assert table.cut(None) is table


def test_a_page_of_the_listed_table_ends_the_answer_however_much_is_before_it() -> None:
    rows: list[Row] = [(f"row{at}", "1") for at in range(50)]
    listed = Table("Rows", ("name", "n"), rows)
    long = Lines([f"{at} {'x' * 300}" for at in range(200)])
    text = markdown(Document("Title", [listed, long], listed), Page(10, 5))
    assert len(text) <= MOST_CHARACTERS
    assert re.findall(r"`(row\d+)`", text) == [f"row{at}" for at in range(10, 15)]
    assert re.search(r"\.\.\. and \d+ more lines", text)
    assert text.endswith(f"Rows 11 to 15 of 50. More: offset=15.\n{NOTE}")


def test_tables_get_shorter_until_a_whole_document_fits() -> None:
    def made(rows: int) -> Document:
        return Document("Title", [Table("t", ("n",), [("x" * 150,)] * rows)])

    text = bounded(made, 500)
    assert 40 < text.count("x" * 150) < 80
    assert text.endswith(NOTE)
