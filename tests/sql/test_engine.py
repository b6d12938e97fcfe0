"""Queries in SQL: the report's own answers, one line for a mistake, and nothing but the tables."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from threading import Thread, Timer
from threading import enumerate as enumerate_threads
from typing import Any

import msgspec
import pytest
from support.loaded import reported

from tb_hookview.errors import TraceError, UsageError
from tb_hookview.report.result import Report
from tb_hookview.sql import Limits, Source, confined, run, sources_of_several
from tb_hookview.sql.engine import one_line
from tb_hookview.tables.catalogue import empty_table
from tb_hookview.tables.table import Table

duckdb = pytest.importorskip("duckdb", reason="needs duckdb: pip install duckdb")
MARKS_WORDS = int(duckdb.__version__.partition(".")[0]) >= 2
"""Before, DuckDB marked the first letter of a word alone, and no end of a query."""
pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pyarrow")
TRACES = ("tracelens_h100_bert_small", "hta_mi250_minitoy_training", "hta_sampled_rank-0")


@pytest.fixture(scope="module", params=TRACES)
def report(request: pytest.FixtureRequest) -> Report:
    return reported(f"{request.param}.json.gz")


Question = tuple[str, Callable[[Report], object]]
QUESTIONS: dict[str, Question] = {
    "steps": ("select count(*) from steps", lambda r: [(len(r.steps),)]),
    "slowest step": (
        "select name from steps order by duration_us desc, start_us limit 1",
        lambda r: [(max(r.steps, key=lambda s: (s.duration_us, -s.start_us)).name,)][
            : len(r.steps)
        ],
    ),
    "kernel time": (
        "select sum(duration_us) from device_events",
        lambda r: [(pytest.approx(sum(e.duration_us for e in r.device_events)),)],
    ),
    "launches by kernel": (
        "select name, count(*) from device_events group by 1 order by 2 desc, 1 limit 5",
        lambda r: sorted(counted(r.device_events), key=lambda row: (-row[1], row[0]))[:5],
    ),
    "backward by module": (
        'select path, "backward.device_us" from modules where "backward.device_us" > 0 order by id',
        lambda r: sorted_by_id(r.modules, lambda m: m.backward.device_us),
    ),
    "syncs": ("select count(*) from syncs", lambda r: [(len(r.syncs),)]),
    "waits": (
        "select coalesce(sum(duration_us), 0) from syncs",
        lambda r: [(pytest.approx(sum(s.duration_us for s in r.syncs)),)],
    ),
    "findings": (
        "select rule from findings order by rule",
        lambda r: sorted((f.rule,) for f in r.findings),
    ),
    "operators": (
        "select name, calls from operators order by calls desc, name limit 4",
        lambda r: sorted(((o.name, o.calls) for o in r.operators), key=lambda o: (-o[1], o[0]))[:4],
    ),
    "events joined with streams": (
        "select count(*) from device_events e join streams s on s.id = e.stream_id",
        lambda r: [(sum(e.stream_id is not None for e in r.device_events),)],
    ),
}


def counted(events: object) -> list[tuple[str, int]]:
    names: dict[str, int] = {}
    for event in events:  # type: ignore[attr-defined]
        names[event.name] = names.get(event.name, 0) + 1
    return list(names.items())


def sorted_by_id(modules: object, of: Callable[..., float | None]) -> list[tuple[str, object]]:
    rows = sorted(modules, key=lambda m: m.id)  # type: ignore[call-overload]
    return [(m.path, pytest.approx(of(m))) for m in rows if (of(m) or 0) > 0]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_as_the_report_does(report: Report, question: str) -> None:
    query, expected = QUESTIONS[question]
    assert list(report.sql(query)) == expected(report)


def source(rows: int = 3) -> Source:
    table = pyarrow.table({"module": [f"layer{n}" for n in range(rows)], "us": list(range(rows))})
    return Source(lambda: table.schema, lambda: table)


def unmade(reason: str = "made") -> Source:
    def rows() -> object:
        raise TraceError("t.json", reason)

    return Source(lambda: pyarrow.schema([("a", pyarrow.int64())]), rows)


def said(query: str, limits: Limits | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        run(query, {"events": source()}, limits)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("selec 1", "syntax error at or near \"selec\" (line 1, at 'selec')"),
        ("select\n  us +\nfrom events", "(line 3, at 'from')"),
        ("select no_such(us) from events", "no_such"),
        ("select uss from events", 'column "uss"'),
        ("select * from kernels", "there are events"),
        ("select 1; select 2", "one query at a time; here are 2"),
        ("", "one query at a time; here are 0"),
        ("select 1 where", "where" if MARKS_WORDS else "at end of input"),
    ],
)
def test_a_mistake_is_one_line_that_points_at_the_word(query: str, expected: str) -> None:
    assert expected in said(query)


@pytest.mark.parametrize("package", ["duckdb", "pyarrow"])
def test_a_package_that_is_missing_is_in_the_extra(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    expected = f"SQL needs {package}, which is not installed; pip install 'tb-hookview[sql]'"
    assert said("select 1") == expected


@pytest.mark.parametrize("marks", ["^", "^^^^^"])
def test_a_mark_below_a_letter_is_of_its_word(marks: str) -> None:
    message = f"Parser Error: syntax error\n\nLINE 2: selec 1\n        {marks}"
    assert one_line(message) == "sql: syntax error (line 2, at 'selec')"


@pytest.mark.parametrize(
    "query",
    [
        "select * from '{file}'",
        "select * from read_text('{file}')",
        "select * from read_csv('{file}')",
        "select * from read_parquet('http://127.0.0.1:9/x')",
        "select * from glob('{folder}/*')",
        "select * from sniff_csv('{file}')",
        "copy events to '{folder}/out.csv'",
        "copy (select 1) to '{folder}/out.csv'",
        "export database '{folder}/out'",
        "attach '{folder}/out.db'",
        "install httpfs",
        "load httpfs",
        "set threads = 1",
        "set enable_external_access = true",
        "reset enable_external_access",
        "pragma enable_external_access = true",
        "create table t as select 1",
        "drop view events",
        "insert into events values ('a', 1)",
        "delete from events",
        "call pragma_version()",
        "select * from local_variable",
    ],
)
def test_reads_nothing_but_the_tables(query: str, tmp_path: Path) -> None:
    local_variable = pyarrow.table({"secret": [1]})
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nsecret\n")
    assert "secret" not in said(query.format(file=secret, folder=tmp_path)).replace(str(secret), "")
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert len(local_variable) == 1


def test_a_query_sees_tables_columns_and_its_plan() -> None:
    sources = {"events": source()}
    assert run("show tables", sources)[0] == ("events",)
    assert [row[0] for row in run("describe events", sources)] == ["module", "us"]
    assert "events" not in run("select 1", sources).columns
    assert len(run("explain select * from events", sources)) == 1
    assert run("with x as (from events) select sum(us) from x", sources)[0] == (3,)


def test_tables_that_are_not_read_are_not_made() -> None:
    sources = {"events": source(), "other": unmade()}
    assert run("select count(*) from events", sources)[0] == (3,)
    with pytest.raises(TraceError, match="made"):
        run("select count(*) from other", sources)


def test_a_table_is_made_once_for_a_query_that_reads_it_twice() -> None:
    made: list[int] = []
    table = pyarrow.table({"us": [1, 2]})

    def rows() -> object:
        made.append(1)
        return table

    twice = Source(lambda: table.schema, rows)
    assert run("select count(*) from e a, e b", {"e": twice})[0] == (4,)
    assert made == [1]


def test_rows_are_made_in_the_context_of_the_question() -> None:
    asked = ContextVar("asked", default="nobody")
    asked.set("somebody")
    table = pyarrow.table({"us": [1]})
    heard: list[str] = []

    def rows() -> object:
        heard.append(asked.get())
        return table

    assert run("from e", {"e": Source(lambda: table.schema, rows)})[0] == (1,)
    assert heard == ["somebody"]


def test_rows_are_bounded_and_say_so() -> None:
    cut = run("select * from events", {"events": source(10)}, Limits(rows=4))
    assert (len(cut), cut.more) == (4, True)
    whole = run("select * from events", {"events": source(4)}, Limits(rows=4))
    assert (len(whole), whole.more) == (4, False)


def test_time_is_bounded() -> None:
    endless = "select count(*) from range(100000000) a, range(1000000) b"
    with pytest.raises(UsageError, match=r"stopped after 0\.2 s"):
        run(endless, {}, Limits(seconds=0.2))


def test_time_in_which_tables_are_made_does_not_count() -> None:
    table = pyarrow.table({"us": [1, 2]})
    running: list[int] = []

    def rows() -> object:
        running.append(len(clocks()))
        return table

    before = clocks()
    limits = Limits(seconds=3600)
    answer = run("select sum(us) from e", {"e": Source(lambda: table.schema, rows)}, limits)
    assert (answer[0], running, clocks()) == ((3,), [len(before)], before)


def test_time_goes_on_after_tables_are_made() -> None:
    table = pyarrow.table({"us": [1]})
    endless = "select count(*) from range(100000000) a, range(1000000) b, e"
    with pytest.raises(UsageError, match=r"stopped after 0\.5 s"):
        run(endless, {"e": Source(lambda: table.schema, lambda: table)}, Limits(seconds=0.5))


def clocks() -> set[Thread]:
    """Timers that run."""
    found = (thread for thread in enumerate_threads() if isinstance(thread, Timer))
    return {timer for timer in found if not timer.finished.is_set()}


def test_rows_of_several_traces_are_bounded_and_name_theirs() -> None:
    syncs = empty_table("syncs")
    made: list[str] = []

    def each(name: str) -> Iterator[tuple[str, Table[Any]]]:
        for worker in ("rank0", "rank1"):
            made.append(worker)
            yield worker, syncs

    sources = sources_of_several({"syncs": syncs}, each, megabytes=1)
    assert list(run("select worker, count(*) from syncs group by 1", sources)) == []
    assert made == ["rank0", "rank1"]
    none = sources_of_several({"syncs": source_table(100)}, lambda _: [("a", source_table(100))], 0)
    with pytest.raises(UsageError, match="takes more than 0 MB; query one trace"):
        run("select count(*) from syncs", none)


def source_table(rows: int) -> Table[Any]:
    """A table of a row type with one column."""
    return Table(Row, [Row(n) for n in range(rows)], "syncs")


class Row(msgspec.Struct):
    """A row of a table that is made up."""

    us: int


def test_memory_is_bounded() -> None:
    with pytest.raises(UsageError, match="more than 20 MB"):
        run("select list(range) from range(20000000)", {}, Limits(megabytes=20))


def test_names_in_a_trace_are_values() -> None:
    name = "'; drop view events; --"
    table = pyarrow.table({"module": [name]})
    assert run("from events", {"events": Source(lambda: table.schema, lambda: table)})[0] == (name,)


def test_a_result_converts() -> None:
    rows = run("select module, us, us / 2 as half from events", {"events": source(2)})
    assert list(rows.columns) == ["module", "us", "half"]
    assert rows[1:] == [("layer1", 1, 0.5)]
    assert rows.to_json() == (
        '[{"module":"layer0","us":0,"half":0.0},{"module":"layer1","us":1,"half":0.5}]'
    )
    assert rows.to_csv() == '"module","us","half"\r\n"layer0",0,0.0\r\n"layer1",1,0.5\r\n'
    assert rows.to_pandas()["half"].tolist() == [0.0, 0.5]
    assert rows.to_polars()["us"].to_list() == [0, 1]
    assert "layer1" in rows._repr_html_()
    assert repr(rows) == "<Result of 2 rows: module, us, half>"


def test_sums_of_whole_numbers_are_whole_numbers() -> None:
    """DuckDB adds them up in 128 bits, which are decimals to Arrow."""
    rows = run(
        "select sum(us), sum(us + 9223372036854775807::hugeint) from events", {"events": source(4)}
    )
    assert list(rows.columns.values()) == ["int64", "double"]
    assert rows.to_csv().endswith("\r\n6,3.6893488147419103e+19\r\n")
    assert rows.to_json().startswith('[{"sum(us)":6,')


SMALL = Limits(megabytes=200)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("select sum(us) from events", [(3,)]),
        ("select sum(us) from EVENTS", [(3,)]),
        ("from query('select max(us) from ' || 'ev' || 'ents')", [(2,)]),
        ("show tables", [("events",), ("other",)]),
    ],
    ids=["named", "in capitals", "named by no word", "none"],
)
def test_a_process_of_its_own_gets_the_tables_that_a_query_reads(
    query: str, rows: list[tuple[object, ...]]
) -> None:
    assert list(run(query, {"events": source(), "other": unmade()}, SMALL)) == rows


def test_a_process_of_its_own_says_what_is_wrong() -> None:
    with pytest.raises(UsageError, match="there are events"):
        run("from kernels", {"events": source()}, SMALL)
    with pytest.raises(TraceError, match="made"):
        run("from other", {"other": unmade()}, SMALL)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process takes")
@pytest.mark.parametrize(
    "query",
    [
        "select repeat('x', 2000000000)",
        "with recursive r as (select 0 n, 'x' t union all select n + 1, t || t from r) from r",
        "from range(length(repeat('x', 2000000000)))",
    ],
)
def test_memory_of_a_single_value_is_bounded(query: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(query, {}, SMALL)
    assert str(caught.value) in (
        "sql: more than 200 MB needed; narrow the query",
        "sql: stopped after 30 s; narrow the query",
    ), caught.value


def test_an_answer_is_bounded() -> None:
    expected = "sql: the answer takes more than 20 MB; narrow the query"
    assert said("from range(3000000)", Limits(rows=10_000_000, megabytes=200)) == expected


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_process_of_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query has no end: it returns only if its process is ended."""

    class Interrupted(confined.Workers):
        def submit(self, *args: Any) -> Any:
            future = super().submit(*args)
            monkeypatch.setattr(future, "result", lambda _s: signal.raise_signal(signal.SIGINT))
            return future

    monkeypatch.setattr(confined, "Workers", Interrupted)
    endless = "select count(*) from range(100000000) a, range(1000000) b"
    with pytest.raises(KeyboardInterrupt):
        run(endless, {}, Limits(seconds=3600))
