"""Every route of the HTTP interface, the one table of it.

A route is checked, answered, tagged, cached and described (`openapi.py`) by its row here.
docs/reference/http_api.md says the same in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tb_hookview import schema
from tb_hookview.ranks.overview import QUANTITIES
from tb_hookview.ranks.result import TABLES as RUN_TABLES
from tb_hookview.report.module.detail import MEASURES, MOST_PATHS, MOST_TEXT
from tb_hookview.server import analysis, ranks, served, tables, timeline
from tb_hookview.server.parameters import NAME, TEXT, TEXTS, TIME, Parameter, text_up_to, whole
from tb_hookview.tables.catalogue import CATALOGUE
from tb_hookview.tables.query import DEFAULT, MOST, OPERATORS

OTHER = "other_"
"""Prefix of the parameters of a second trace."""
FURTHEST = 10**12
"""Largest offset: no table has more rows."""
_OF_TRACE = (404, 422, 503)


class Route(NamedTuple):
    """One route."""

    path: str
    answer: Any
    """A type for JSON, or the media type of a file."""
    parameters: tuple[Parameter, ...] = ()
    errors: tuple[int, ...] = ()
    handler: Callable[..., Any] | None = None
    """Called with the open traces of `sides`, or `Served` without any, and the other parameters by
    name; returns the answer, or a response. None for the files of the page."""
    text: str = ""
    sides: tuple[str, ...] = ()
    """Prefix of the parameters that name each trace the answer is about."""
    tagged: bool = False
    """Whether the answer depends on these traces and the question alone."""
    cached: bool = False
    """Whether it comes again and takes a while to make."""
    by_form: bool = False
    """Whether its form is what the client accepts."""

    @property
    def says(self) -> str:
        """What it answers, in a line."""
        return self.text or (self.handler.__doc__ or "").partition("\n")[0]

    @property
    def asked(self) -> list[Parameter]:
        """Parameters in the query, without those that name `sides`."""
        naming = {each.name for side in self.sides for each in _trace(side)}
        in_path = {each.name for each in self.parameters if f"{{{each.name}}}" in self.path}
        return [each for each in self.parameters if each.name not in naming | in_path]


_STEP = Parameter(
    "step", "a step's name; may be repeated; `counted` alone: those that means are over", TEXTS
)
_START = Parameter("start", "microseconds", TIME)
_END = Parameter("end", "microseconds, after start", TIME)
_WIDTH = Parameter("width", "pixels", whole(1, timeline.WIDEST))
_WINDOW = tuple(each._replace(required=True) for each in (_START, _END, _WIDTH))
_LANES = Parameter("lanes", "ids of lanes, with commas between; all of them without it", TEXT)
_QUESTION = (
    Parameter("without", "a finding's id, or a rule's for all of its; may be repeated", TEXTS),
    Parameter("scale", "WHAT=FACTOR, as in host=0.5; may be repeated", TEXTS),
)
_SQL = Parameter(
    "query", "one query that reads", {**TEXT, "maxLength": tables.LONGEST}, required=True
)
_PATH = "a module's path in the report"
_EVENT = Parameter(
    "id", "an event's id of api/timeline/window", whole(0, 10**16 - 1), required=True
)
_OFFSET = Parameter("offset", "rows to leave out first", whole(0, FURTHEST), default=0)
_ROWS = (
    Parameter("sort", "a column, `-` before it for descending; may be repeated", TEXTS),
    Parameter("filter", f"column:op:value, op {', '.join(OPERATORS)}; may be repeated", TEXTS),
    _OFFSET,
    Parameter(
        "limit", f"rows of the answer, {DEFAULT} without it", whole(0, MOST), default=DEFAULT
    ),
    Parameter("columns", "columns, with commas between; all of them without it", TEXT, default=""),
)
_COLLECTIVE = Parameter(
    "id", "a collective's id in the table collectives", whole(0, ranks.COLLECTIVES), required=True
)


def _trace(prefix: str = "") -> tuple[Parameter, ...]:
    return (
        Parameter(f"{prefix}run", "a run's name of api/runs", NAME, required=True),
        Parameter(f"{prefix}worker", "a worker's name of api/runs", NAME, required=True),
        Parameter(f"{prefix}trace", "a trace's id of api/runs; the newest without it", TEXT),
    )


def _about_trace(
    path: str,
    answer: Any,
    handler: Callable[..., Any],
    *parameters: Parameter,
    cached: bool = False,
) -> Route:
    """A route about one trace, with parameters in addition to those that name it."""
    asked = (*_trace(), *parameters)
    return Route(path, answer, asked, _OF_TRACE, handler, sides=("",), tagged=True, cached=cached)


def _about_run(
    path: str, answer: Any, handler: Callable[..., Any], *parameters: Parameter
) -> Route:
    """A route about a run: the newest trace of each of its workers is a rank."""
    return Route(path, answer, (_trace()[0], *parameters), _OF_TRACE, handler)


def _table(names: list[str]) -> Parameter:
    return Parameter("table", "a table's name", {"enum": names}, required=True)


def _page(path: str, answer: str, text: str) -> Route:
    return Route(path, answer, text=text)


_FORMS = f"as {tables.ARROW} where that is accepted."

ROUTES = (
    _page("/", "text/html", "The page."),
    _page("/index.html", "text/html", "The page."),
    _page("/index.js", "text/javascript", "The page's script."),
    _page("/assets/{name}", "*/*", "A file of the page.")._replace(
        parameters=(Parameter("name", "the file's name", NAME, required=True),), errors=(404,)
    ),
    Route("/api/runs", schema.Runs, (), (422,), served.runs),
    Route("/api/runs/known", list[schema.KnownTrace], (), (422,), served.known),
    Route("/api/dry_run", schema.DryRunReport, (), (404, 422), served.dry_run),
    _about_trace("/api/report", schema.ReportData, analysis.report, _STEP, cached=True),
    _about_trace(
        "/api/report/rows",
        schema.ReportRows,
        analysis.report_rows,
        _STEP,
        Parameter("table", "a list of rows of the report, as `modules`", NAME, required=True),
        _OFFSET,
    ),
    Route("/api/rules", list[schema.RuleInfo], (), (), served.rules),
    Route("/api/progress", schema.ReadingProgress, _trace(), (404, 422), served.progress),
    Route(
        "/api/table/{table}",
        schema.TablePage,
        (_table(list(CATALOGUE)), *_trace(), _STEP, *_ROWS),
        (*_OF_TRACE, 406),
        tables.table_rows,
        f"Some rows of a table; {_FORMS}",
        sides=("",),
        tagged=True,
        by_form=True,
    ),
    _about_run("/api/ranks", schema.RunOverview, ranks.ranks),
    _about_run("/api/history", schema.History, served.history),
    _about_run(
        "/api/ranks/steps",
        schema.StepMatrix,
        ranks.steps,
        Parameter(
            "quantity",
            "what of a step; may be repeated",
            {"type": "array", "items": {"enum": list(QUANTITIES)}, "minItems": 1},
            required=True,
        ),
        Parameter("offset", "steps to leave out first", whole(0, ranks.STEPS), default=0),
    ),
    _about_run(
        "/api/ranks/collective",
        schema.CollectiveRanks,
        ranks.collective,
        _COLLECTIVE,
        Parameter("offset", "ranks to leave out first", whole(0, ranks.RANKS), default=0),
    ),
    _about_run(
        "/api/ranks/collective/rank",
        schema.RankActivity,
        ranks.collective_rank,
        _COLLECTIVE,
        Parameter("rank", "a rank's number", whole(0, ranks.RANKS), required=True),
    ),
    _about_run("/api/ranks/collective/file", ranks.MERGED, ranks.collective_file, _COLLECTIVE),
    _about_run(
        "/api/ranks/table/{table}",
        schema.TablePage,
        ranks.run_rows,
        _table(list(RUN_TABLES)),
        *_ROWS,
    )._replace(errors=(*_OF_TRACE, 406), text=f"Some rows of a table of a run; {_FORMS}"),
    _about_run("/api/ranks/progress", schema.ReadingProgress, ranks.progress)._replace(
        errors=(404, 422)
    ),
    # A query may ask for random numbers, and so for another answer each time.
    _about_trace("/api/sql", schema.SqlAnswer, tables.sql, _SQL, _STEP)._replace(tagged=False),
    Route("/api/sql/tables", schema.SqlTables, (), (), tables.trace_tables),
    _about_run("/api/ranks/sql", schema.SqlAnswer, tables.sql_of_run, _SQL),
    Route("/api/ranks/sql/tables", schema.SqlTables, (), (), tables.run_tables),
    _about_trace(
        "/api/module",
        schema.ModuleDetail,
        analysis.module,
        Parameter("path", _PATH, TEXT, required=True),
        _STEP,
        cached=True,
    ),
    _about_trace(
        "/api/module/bars",
        dict[str, list[schema.Us]],
        analysis.bars,
        Parameter("path", f"{_PATH}; may be repeated", TEXTS | {"maxItems": MOST_PATHS}),
        Parameter("measure", "which cost", {"enum": list(MEASURES)}, required=True),
        _STEP,
    ),
    _about_trace(
        "/api/module/search",
        schema.KernelSearch,
        analysis.search,
        Parameter("q", "the text", text_up_to(MOST_TEXT), required=True),
        _STEP,
    ),
    _about_trace(
        "/api/compare",
        schema.Compared,
        analysis.compared,
        *(_STEP, *_trace(OTHER), _STEP._replace(name=f"{OTHER}step")),
        cached=True,
    )._replace(sides=("", OTHER)),
    _about_trace(
        "/api/whatif",
        schema.WhatIf,
        analysis.what_if,
        _STEP,
        *_QUESTION,
        Parameter(
            "modules",
            "0 to leave out the critical path by module and slack, which take half of the time",
            {"enum": ["0", "1"]},
            default="1",
        ),
        cached=True,
    ),
    _about_trace(
        "/api/whatif/lanes", schema.TimelineOverview, analysis.lanes, _STEP, *_QUESTION, cached=True
    ),
    _about_trace(
        "/api/whatif/window", schema.TimelineWindow, analysis.window, _STEP, *_QUESTION, *_WINDOW
    ),
    _about_trace(
        "/api/memory",
        schema.MemoryAnswer,
        analysis.memory,
        _STEP,
        Parameter("device", "as `cpu` or `cuda:0`; the one that matters most without it", TEXT),
        *(_START, _END),
        Parameter(
            "points",
            f"most points of the curve, {analysis.POINTS} without it",
            whole(4, analysis.MOST_POINTS),
            default=analysis.POINTS,
        ),
    ),
    _about_trace("/api/timeline", schema.TimelineOverview, timeline.overview, cached=True)._replace(
        text="The lanes of the timeline, its bounds and a minimap."
    ),
    _about_trace("/api/timeline/window", schema.TimelineWindow, timeline.window, *_WINDOW, _LANES),
    _about_trace("/api/timeline/event", schema.EventDetail, timeline.event, _EVENT),
    _about_trace(
        "/api/timeline/search",
        schema.SearchResult,
        timeline.find,
        Parameter("q", "the text", text_up_to(timeline.LONGEST_TEXT), required=True),
        *(_START, _END, _WIDTH._replace(default=timeline.PARTS), _LANES),
    ),
    _about_trace(
        "/api/timeline/statistics", schema.WindowStatistics, timeline.statistics, *_WINDOW[:2]
    ),
)

ANSWERS = [
    *(route.answer for route in ROUTES if not isinstance(route.answer, str)),
    schema.Run,
    schema.ErrorAnswer,
]
"""The types of what is sent as JSON: of the routes in their order, then of what the rows of a
run's tables are part of, then of errors."""
