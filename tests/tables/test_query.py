"""Filters, order and pages of a table."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tb_hookview.errors import UsageError
from tb_hookview.tables.model.columns import Arrays, Numbers, Texts, known
from tb_hookview.tables.query import Question, ask
from tb_hookview.tables.table import Table


class Item(msgspec.Struct, frozen=True):
    """A row."""

    id: int
    name: str | None
    time: float | None
    used: bool
    tags: list[str] = []


ITEMS = [
    Item(0, "gemm", 2.0, used=True),
    Item(1, None, None, used=False),
    Item(2, "Copy", -1.0, used=True),
    Item(3, "", 2.0, used=False),
]


class Flat(msgspec.Struct, frozen=True):
    """The same row, but for the list."""

    id: int
    name: str | None
    time: float | None
    used: bool


def computed() -> Arrays:
    """The same rows as arrays."""
    texts, codes = ["Copy", "gemm", None, ""], np.array([1, 2, 0, 3])
    time = np.array([2.0, np.nan, -1.0, 2.0])
    return Arrays(
        np.arange(4),
        {
            "id": Numbers,
            "name": lambda i: Texts(texts, codes[i]),
            "time": lambda i: Numbers(time[i], ~np.isnan(time[i])),
            "used": lambda i: Numbers(known(np.array([1, -1, 1, -1])[i]).known),
        },
    )


TABLES = [Table(Item, ITEMS), Table(Flat, computed)]


@pytest.fixture(params=TABLES, ids=["rows", "arrays"])
def table(request: pytest.FixtureRequest) -> Table[Item]:
    found: Table[Item] = request.param
    return found


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["name:eq:gemm"], [0]),
        (["name:eq:"], [3]),
        (["name:ne:gemm"], [1, 2, 3]),
        (["name:ge:g"], [0]),
        (["name:contains:COP"], [2]),
        (["name:contains:"], [0, 2, 3]),
        (["time:ge:2"], [0, 3]),
        (["time:le:1.5"], [2]),
        (["time:ne:2"], [1, 2]),
        (["used:eq:true"], [0, 2]),
        (["time:ge:0", "used:eq:false"], [3]),
        (["id:ge:1", "id:le:2"], [1, 2]),
    ],
)
def test_filters(table: Table[Item], filters: list[str], found: list[int]) -> None:
    page = ask(table, Question(filter=filters))
    assert (page.rows.tolist(), page.total) == (found, len(found))


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (["time"], [2, 0, 3, 1]),
        (["-time"], [0, 3, 2, 1]),
        (["-time", "-id"], [3, 0, 2, 1]),
        (["name"], [3, 2, 0, 1]),
        (["-name"], [0, 2, 3, 1]),
        (["used", "-id"], [3, 1, 2, 0]),
    ],
)
def test_order_puts_none_last(table: Table[Item], sort: list[str], order: list[int]) -> None:
    assert ask(table, Question(sort=sort)).rows.tolist() == order


def test_pages(table: Table[Item]) -> None:
    page = ask(table, Question(offset=1, limit=2, columns=["name", "id"]))
    assert page.rows.tolist() == [1, 2]
    assert page.total == 4
    assert [column.name for column in page.columns] == ["name", "id"]
    assert ask(table, Question(offset=9)).rows.tolist() == []


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (Question(sort=["-cost"]), "sort: no column 'cost'"),
        (Question(sort=["tags"]), "sort=tags"),
        (Question(columns=["x"]), "columns: no column 'x'"),
        (Question(filter=["x:eq:1"]), "filter: no column 'x'"),
        (Question(filter=["time"]), "filter=time: not column:op:value"),
        (Question(filter=["time:like:1"]), "filter=time:like:1"),
        (Question(filter=["time:eq:soon"]), "time is number"),
        (Question(filter=["time:contains:1"]), "time holds no text"),
        (Question(filter=["tags:eq:a"]), "tags holds lists"),
    ],
)
def test_errors_name_the_parameter(question: Question, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        ask(TABLES[0], question)
