"""Every route of the HTTP interface: its parameters, and the types of its answers.

docs/http_api.md says the same in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tb_hookview.ranks.overview import QUANTITIES
from tb_hookview.ranks.result import TABLES as RUN_TABLES
from tb_hookview.report.module.calls import MEASURES
from tb_hookview.report.module.detail import MOST_PATHS
from tb_hookview.report.module.search import MOST_TEXT
from tb_hookview.schema import (
    CollectiveRanks,
    MemoryAnswer,
    RankActivity,
    ReportData,
    Run,
    RunOverview,
    StepMatrix,
)
from tb_hookview.schema.comparison import Compared
from tb_hookview.schema.errors import ErrorAnswer
from tb_hookview.schema.host import DryRunReport
from tb_hookview.schema.module import KernelSearch, ModuleDetail
from tb_hookview.schema.rules import RuleInfo
from tb_hookview.schema.runs import ReadingProgress, Runs
from tb_hookview.schema.sql import SqlAnswer, SqlTables
from tb_hookview.schema.tables import ReportRows, TablePage
from tb_hookview.schema.timeline import (
    EventDetail,
    SearchResult,
    TimelineOverview,
    TimelineWindow,
    WindowStatistics,
)
from tb_hookview.schema.units import Us
from tb_hookview.schema.watched.history import History
from tb_hookview.schema.whatif import WhatIf
from tb_hookview.server.comparison import OTHER
from tb_hookview.server.memory import MOST_POINTS, POINTS
from tb_hookview.server.ranks import COLLECTIVES, MERGED, RANKS, STEPS
from tb_hookview.server.requests import FURTHEST
from tb_hookview.server.sql import LONGEST
from tb_hookview.server.tables import ARROW
from tb_hookview.server.timeline import LONGEST_ID, LONGEST_TEXT, LONGEST_US, WIDEST
from tb_hookview.tables.catalogue import CATALOGUE
from tb_hookview.tables.query import DEFAULT, MOST, OPERATORS

_NAME = {"type": "string", "minLength": 1}
_TIME = {"type": "number", "minimum": -LONGEST_US, "maximum": LONGEST_US}
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


class Parameter(NamedTuple):
    """One parameter of a query."""

    name: str
    means: str
    schema: dict[str, Any]
    required: bool = False


class Route(NamedTuple):
    """One route; `answer` is a type for JSON, or the media type of a file."""

    path: str
    says: str
    answer: Any
    parameters: tuple[Parameter, ...] = ()
    errors: tuple[int, ...] = ()


_STEP = Parameter(
    "step", "a step's name; may be repeated; `counted` alone: those that means are over", _TEXTS
)
_START = Parameter("start", "microseconds", _TIME)
_END = Parameter("end", "microseconds, after start", _TIME)
_WIDTH = Parameter("width", "pixels", {"type": "integer", "minimum": 1, "maximum": WIDEST})
_LANES = Parameter("lanes", "ids of lanes, with commas between; all of them without it", _TEXT)
_QUESTION = (
    Parameter("without", "a finding's id, or a rule's for all of its; may be repeated", _TEXTS),
    Parameter("scale", "WHAT=FACTOR, as in host=0.5; may be repeated", _TEXTS),
)
_SQL = Parameter(
    "query", "one query that reads", {"type": "string", "maxLength": LONGEST}, required=True
)
_PATH = "a module's path in the report"
_EVENT = Parameter(
    "id",
    "an event's id of api/timeline/window",
    {"type": "integer", "minimum": 0, "maximum": 10**LONGEST_ID - 1},
    required=True,
)


def _trace(prefix: str = "") -> tuple[Parameter, ...]:
    return (
        Parameter(f"{prefix}run", "a run's name of api/runs", _NAME, required=True),
        Parameter(f"{prefix}worker", "a worker's name of api/runs", _NAME, required=True),
        Parameter(f"{prefix}trace", "a trace's id of api/runs; the newest without it", _TEXT),
    )


def _about_trace(path: str, says: str, answer: Any, *parameters: Parameter) -> Route:
    """A route about one trace, with parameters in addition to those that name it."""
    return Route(path, says, answer, (*_trace(), *parameters), (404, 422, 503))


def _required(*parameters: Parameter) -> Iterator[Parameter]:
    return (parameter._replace(required=True) for parameter in parameters)


def _text_up_to(most: int) -> Parameter:
    return Parameter("q", "the text", _NAME | {"maxLength": most}, required=True)


def _up_to(most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "maximum": most}


def _about_run(path: str, says: str, answer: Any, *parameters: Parameter) -> Route:
    """A route about a run: the newest trace of each of its workers is a rank."""
    return Route(path, says, answer, (_trace()[0], *parameters), (404, 422, 503))


_OPS = ", ".join(OPERATORS)
_ROWS = (
    Parameter("sort", "a column, `-` before it for descending; may be repeated", _TEXTS),
    Parameter("filter", f"column:op:value, op {_OPS}; may be repeated", _TEXTS),
    Parameter("offset", "rows to leave out first", _up_to(FURTHEST)),
    Parameter("limit", f"rows of the answer, {DEFAULT} without it", _up_to(MOST)),
    Parameter("columns", "columns, with commas between; all of them without it", _TEXT),
)
_COLLECTIVE = Parameter(
    "id", "a collective's id in the table collectives", _up_to(COLLECTIVES), required=True
)
_PAGE = Route("/index.html", "The page.", "text/html")

ROUTES = (
    _PAGE._replace(path="/"),
    _PAGE,
    Route("/index.js", "The page's script.", "text/javascript"),
    Route(
        "/assets/{name}",
        "A file of the page.",
        "*/*",
        (Parameter("name", "the file's name", _NAME, required=True),),
        (404,),
    ),
    Route("/api/runs", "The runs of the log directory; parses nothing.", Runs, (), (422,)),
    Route("/api/dry_run", "The dry run that is served.", DryRunReport, (), (404, 422)),
    _about_trace("/api/report", "The report of one trace.", ReportData, _STEP),
    _about_trace(
        "/api/report/rows",
        "Rows of a table of the report, where the report leaves some out.",
        ReportRows,
        _STEP,
        Parameter("table", "a list of rows of the report, as `modules`", _NAME, required=True),
        Parameter("offset", "rows to leave out first", _up_to(FURTHEST)),
    ),
    Route("/api/rules", "The rules that traces are checked against.", list[RuleInfo]),
    Route(
        "/api/progress", "How far the reading of a trace is.", ReadingProgress, _trace(), (404, 422)
    ),
    Route(
        "/api/table/{table}",
        f"Some rows of a table; as {ARROW} where that is accepted.",
        TablePage,
        (
            Parameter("table", "a table's name", {"enum": list(CATALOGUE)}, required=True),
            *_trace(),
            _STEP,
            *_ROWS,
        ),
        (404, 422, 503, 406),
    ),
    _about_run("/api/ranks", "The ranks of a run, and who was late.", RunOverview),
    _about_run("/api/history", "A watched training over all its steps.", History),
    _about_run(
        "/api/ranks/steps",
        "Quantities of steps by ranks, of as many steps as fit.",
        StepMatrix,
        Parameter(
            "quantity",
            "what of a step; may be repeated",
            {"type": "array", "items": {"enum": list(QUANTITIES)}, "minItems": 1},
            required=True,
        ),
        Parameter("offset", "steps to leave out first", _up_to(STEPS)),
    ),
    _about_run(
        "/api/ranks/collective",
        "One collective on some of its ranks, on the clock of the first.",
        CollectiveRanks,
        _COLLECTIVE,
        Parameter("offset", "ranks to leave out first", _up_to(RANKS)),
    ),
    _about_run(
        "/api/ranks/collective/rank",
        "What one rank ran around a collective.",
        RankActivity,
        _COLLECTIVE,
        Parameter("rank", "a rank's number", _up_to(RANKS), required=True),
    ),
    _about_run(
        "/api/ranks/collective/file",
        "A trace of one collective on several ranks, on the clock of the first, compressed.",
        MERGED,
        _COLLECTIVE,
    ),
    _about_run(
        "/api/ranks/table/{table}",
        f"Some rows of a table of a run; as {ARROW} where that is accepted.",
        TablePage,
        Parameter("table", "a table's name", {"enum": list(RUN_TABLES)}, required=True),
        *_ROWS,
    )._replace(errors=(404, 422, 503, 406)),
    _about_run("/api/ranks/progress", "How far the reading of a run is.", ReadingProgress)._replace(
        errors=(404, 422)
    ),
    _about_trace(
        "/api/sql",
        "Rows that answer a query on the tables of a trace.",
        SqlAnswer,
        _SQL,
        _STEP,
    ),
    Route("/api/sql/tables", "What a query on a trace can read.", SqlTables),
    _about_run(
        "/api/ranks/sql", "Rows that answer a query on the tables of a run.", SqlAnswer, _SQL
    ),
    Route("/api/ranks/sql/tables", "What a query on a run can read.", SqlTables),
    _about_trace(
        "/api/module",
        "One module.",
        ModuleDetail,
        Parameter("path", _PATH, _TEXT, required=True),
        _STEP,
    ),
    _about_trace(
        "/api/module/bars",
        "What the calls of some modules cost over time, in microseconds.",
        dict[str, list[Us]],
        Parameter("path", f"{_PATH}; may be repeated", _TEXTS | {"maxItems": MOST_PATHS}),
        Parameter("measure", "which cost", {"enum": list(MEASURES)}, required=True),
        _STEP,
    ),
    _about_trace(
        "/api/module/search",
        "The modules whose kernels have a text in their names.",
        KernelSearch,
        _text_up_to(MOST_TEXT),
        _STEP,
    ),
    _about_trace(
        "/api/compare",
        "What changed between two traces.",
        Compared,
        *(_STEP, *_trace(OTHER), _STEP._replace(name=f"{OTHER}step")),
    ),
    _about_trace(
        "/api/whatif",
        "How long a step would take with something taken out or scaled.",
        WhatIf,
        _STEP,
        *_QUESTION,
        Parameter(
            "modules",
            "0 to leave out the critical path by module and slack, which take half of the time",
            {"enum": ["0", "1"]},
        ),
    ),
    _about_trace(
        "/api/whatif/lanes",
        "The lanes of the replayed steps, as recorded and as predicted.",
        TimelineOverview,
        _STEP,
        *_QUESTION,
    ),
    _about_trace(
        "/api/whatif/window",
        "The blocks of a window of these lanes.",
        TimelineWindow,
        _STEP,
        *_QUESTION,
        *_required(_START, _END, _WIDTH),
    ),
    _about_trace(
        "/api/memory",
        "Memory of a device: peaks, modules at the peak, and the curve of a window.",
        MemoryAnswer,
        _STEP,
        Parameter("device", "as `cpu` or `cuda:0`; the one that matters most without it", _TEXT),
        *(_START, _END),
        Parameter(
            "points",
            f"most points of the curve, {POINTS} without it",
            {"type": "integer", "minimum": 4, "maximum": MOST_POINTS},
        ),
    ),
    _about_trace(
        "/api/timeline", "The lanes of the timeline, its bounds and a minimap.", TimelineOverview
    ),
    _about_trace(
        "/api/timeline/window",
        "The blocks of a window.",
        TimelineWindow,
        *_required(_START, _END, _WIDTH),
        _LANES,
    ),
    _about_trace("/api/timeline/event", "One event.", EventDetail, _EVENT),
    _about_trace(
        "/api/timeline/search",
        "The events with a text in their names.",
        SearchResult,
        _text_up_to(LONGEST_TEXT),
        *(_START, _END, _WIDTH, _LANES),
    ),
    _about_trace(
        "/api/timeline/statistics",
        "What host and devices did in a window.",
        WindowStatistics,
        *_required(_START, _END),
    ),
)

ANSWERS = [
    *(route.answer for route in ROUTES if not isinstance(route.answer, str)),
    Run,
    ErrorAnswer,
]
"""The types of what is sent as JSON: of the routes in their order, then of what the rows of a
run's tables are part of, then of errors."""
