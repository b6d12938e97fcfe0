"""The HTTP interface as an OpenAPI description, made of the types of its answers.

`python -m tb_hookview.server.openapi > docs/openapi.json` writes the file that goes with the
documentation; docs/http_api.md says the same in words.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import msgspec

import tb_hookview
from tb_hookview.report.module.calls import MEASURES
from tb_hookview.report.module.detail import MOST_PATHS, ModuleDetail
from tb_hookview.report.module.search import MOST_TEXT, KernelSearch
from tb_hookview.schema import ReportData
from tb_hookview.server import described
from tb_hookview.server.comparison import OTHER
from tb_hookview.server.store import Progress
from tb_hookview.server.timeline import LONGEST_ID, LONGEST_TEXT, LONGEST_US, WIDEST

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


_STEP = Parameter("step", "a step's name; may be repeated", _TEXTS)
_START = Parameter("start", "microseconds", _TIME)
_END = Parameter("end", "microseconds, behind start", _TIME)
_WIDTH = Parameter("width", "pixels", {"type": "integer", "minimum": 1, "maximum": WIDEST})
_LANES = Parameter("lanes", "ids of lanes, with commas between; all of them without it", _TEXT)
_PATH = "a module's path in the report"


def _trace(prefix: str = "") -> tuple[Parameter, ...]:
    return (
        Parameter(f"{prefix}run", "a run's name of api/runs", _NAME, required=True),
        Parameter(f"{prefix}worker", "a worker's name of api/runs", _NAME, required=True),
        Parameter(f"{prefix}trace", "a trace's id of api/runs; the newest without it", _TEXT),
    )


_OF_TRACE = (404, 422, 503)
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
    Route(
        "/api/runs", "The runs of the log directory; parses nothing.", described.Runs, (), (422,)
    ),
    Route("/api/report", "The report of one trace.", ReportData, (*_trace(), _STEP), _OF_TRACE),
    Route("/api/rules", "What every trace is held against.", list[described.ToldRule]),
    Route("/api/progress", "How far a reading is.", Progress, _trace(), (404, 422)),
    Route(
        "/api/module",
        "One module.",
        ModuleDetail,
        (*_trace(), Parameter("path", _PATH, _TEXT, required=True), _STEP),
        _OF_TRACE,
    ),
    Route(
        "/api/module/bars",
        "What the calls of some modules cost over time, in microseconds.",
        dict[str, list[float]],
        (
            *_trace(),
            Parameter("path", f"{_PATH}; may be repeated", _TEXTS | {"maxItems": MOST_PATHS}),
            Parameter("measure", "which cost", {"enum": list(MEASURES)}, required=True),
            _STEP,
        ),
        _OF_TRACE,
    ),
    Route(
        "/api/module/search",
        "The modules whose kernels have a text in their names.",
        KernelSearch,
        (
            *_trace(),
            Parameter("q", "the text", _NAME | {"maxLength": MOST_TEXT}, required=True),
            _STEP,
        ),
        _OF_TRACE,
    ),
    Route(
        "/api/compare",
        "What changed between two traces.",
        described.Compared,
        (*_trace(), _STEP, *_trace(OTHER), _STEP._replace(name=f"{OTHER}step")),
        _OF_TRACE,
    ),
    Route(
        "/api/timeline",
        "The lanes of the timeline, its bounds and a minimap.",
        described.TimelineOverview,
        _trace(),
        _OF_TRACE,
    ),
    Route(
        "/api/timeline/window",
        "The blocks of a window.",
        described.TimelineWindow,
        (
            *_trace(),
            *(of._replace(required=True) for of in (_START, _END, _WIDTH)),
            _LANES,
        ),
        _OF_TRACE,
    ),
    Route(
        "/api/timeline/event",
        "One event.",
        described.EventDetail,
        (
            *_trace(),
            Parameter(
                "id",
                "an event's id of api/timeline/window",
                {"type": "integer", "minimum": 0, "maximum": 10**LONGEST_ID - 1},
                required=True,
            ),
        ),
        _OF_TRACE,
    ),
    Route(
        "/api/timeline/search",
        "The events with a text in their names.",
        described.Found,
        (
            *_trace(),
            Parameter("q", "the text", _NAME | {"maxLength": LONGEST_TEXT}, required=True),
            *(_START, _END, _WIDTH, _LANES),
        ),
        _OF_TRACE,
    ),
    Route(
        "/api/timeline/statistics",
        "What host and devices did in a window.",
        described.WindowStatistics,
        (*_trace(), *(of._replace(required=True) for of in (_START, _END))),
        _OF_TRACE,
    ),
)

_MEANS = {
    400: "The question is none, or names a host that this server is not.",
    404: "No run, worker, trace, step, module or event of that name.",
    422: "The file cannot be read as a trace, or the log directory is not there.",
    500: "A fault of hookview.",
    503: "The reading was given up.",
}


def build() -> dict[str, Any]:
    """Return the description; OpenAPI 3.1."""
    types = [route.answer for route in ROUTES if not isinstance(route.answer, str)]
    schemas, components = msgspec.json.schema_components(
        [*types, described.Failed], ref_template="#/components/schemas/{name}"
    )
    answers = iter(schemas)
    paths = {
        route.path: {
            "get": _operation(
                route, None if isinstance(route.answer, str) else next(answers), schemas[-1]
            )
        }
        for route in ROUTES
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "HOOKVIEW",
            "version": tb_hookview.__version__,
            "description": "Below data/plugin/hookview in TensorBoard, below / with hookview serve."
            " Times are microseconds, sizes bytes.",
        },
        "paths": paths,
        "components": {"schemas": {name: _closed(of) for name, of in sorted(components.items())}},
    }


def _operation(
    route: Route, schema: dict[str, Any] | None, failed: dict[str, Any]
) -> dict[str, Any]:
    content = {route.answer: {}} if schema is None else {"application/json": {"schema": schema}}
    told = {"200": {"description": route.says, "content": content}}
    for status in sorted({400, 500, *route.errors}):
        content = {"application/json": {"schema": failed}}
        told[str(status)] = {"description": _MEANS[status], "content": content}
    return {
        "summary": route.says,
        "parameters": [_parameter(route, parameter) for parameter in route.parameters],
        "responses": told,
    }


def _parameter(route: Route, parameter: Parameter) -> dict[str, Any]:
    in_path = f"{{{parameter.name}}}" in route.path
    return {
        "name": parameter.name,
        "in": "path" if in_path else "query",
        "description": parameter.means,
        "required": parameter.required,
        "schema": parameter.schema,
    }


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an answer, which has all of its fields always, and no others."""
    if "properties" not in schema:
        return schema
    return schema | {"required": list(schema["properties"]), "additionalProperties": False}


def main() -> None:
    """Write the description to standard output."""
    text = msgspec.json.format(msgspec.json.encode(build()), indent=2)
    sys.stdout.buffer.write(text + b"\n")


if __name__ == "__main__":
    main()
