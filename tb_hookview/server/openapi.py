"""The HTTP interface as an OpenAPI description.

`make schema` writes docs/openapi.json, from which the page's types are made.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tb_hookview.schema.describe import described
from tb_hookview.server.parameters import Parameter
from tb_hookview.server.routes import ANSWERS, ROUTES, Route
from tb_hookview.version import __version__

_MEANS = {
    400: "A parameter is missing or wrong, or the host is not this server's.",
    404: "No run, worker, trace, step, module, finding or event of that name.",
    406: "Arrow alone is accepted, and pyarrow is not installed.",
    422: "The file cannot be read as a trace, or the log directory is not there.",
    500: "A fault of hookview.",
    503: "The reading was given up.",
}


def build() -> dict[str, Any]:
    """Return the description; OpenAPI 3.1."""
    schemas, components = described(ANSWERS, "#/components/schemas/{name}")
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
            "version": __version__,
            "description": "Below data/plugin/hookview in TensorBoard, below / with hookview serve."
            " Times are microseconds, sizes bytes.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _operation(
    route: Route, schema: dict[str, Any] | None, failed: dict[str, Any]
) -> dict[str, Any]:
    content = {route.answer: {}} if schema is None else {"application/json": {"schema": schema}}
    answers = {"200": {"description": route.says, "content": content}}
    for status in sorted({400, 500, *route.errors}):
        content = {"application/json": {"schema": failed}}
        answers[str(status)] = {"description": _MEANS[status], "content": content}
    return {
        "summary": route.says,
        "parameters": [_parameter(route, parameter) for parameter in route.parameters],
        "responses": answers,
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


def write() -> bytes:
    """Return the description as the documentation has it."""
    return msgspec.json.format(msgspec.json.encode(build()), indent=2) + b"\n"
