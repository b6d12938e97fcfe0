"""The application: it answers what `routes.py` lists."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from flask import Flask, Response, request

from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.server import answers, page
from tb_hookview.server.answers import tag_of, tagged
from tb_hookview.server.routes import ROUTES, Route
from tb_hookview.server.served import Served, dry_run_file
from tb_hookview.trace import TraceFile


def create_app(
    logdir: str | Path | None,
    *,
    hosts: Collection[str] | None = None,
    policy: str = answers.PAGE_POLICY,
) -> Flask:
    """Return the application for a log directory, a run folder or a single trace file.

    Args:
        logdir: what to look at, a path or an address; the JSON of a dry run; None answers with an
            empty list of runs.
        hosts: the names a request may call this server by; None leaves that to whoever mounts it.
        policy: the Content-Security-Policy of its pages.
    """
    app = Flask("tb_hookview", static_folder=None)
    answers.install(app, hosts, policy)
    page.install(app)
    served = Served(logdir, dry_run_file(logdir))
    for route in ROUTES:
        if route.handler is not None:
            path = route.path.replace("{", "<").replace("}", ">")
            app.add_url_rule(path, path, _view(served, route), methods=["GET"])
    return app


def _view(served: Served, route: Route) -> Callable[..., Response]:
    def view(**in_path: str) -> Response:
        if not route.sides:
            return _response(route, (served,), in_path)
        files = [served.listed.choose(request.args, side).file for side in route.sides]
        return _of_traces(served, files, lambda *traces: _tagged(route, traces, in_path))

    return view


def _of_traces(
    served: Served, files: list[TraceFile], question: Callable[..., Response]
) -> Response:
    """The answer to a question about traces, each as it is now."""
    if not files:
        return question()
    return served.traces.ask(
        files[0],
        lambda first: _of_traces(served, files[1:], lambda *rest: question(first, *rest)),
    )


def _tagged(route: Route, traces: tuple[OpenTrace, ...], in_path: dict[str, str]) -> Response:
    """The answer about traces: not sent where the client has it, nor made where it is cached."""
    if not route.tagged:
        return _response(route, traces, in_path)
    tag = tag_of((trace.state for trace in traces), by_form=route.by_form)
    if request.if_none_match.contains_weak(tag):
        return tagged(Response(status=304), tag, by_form=route.by_form)
    if route.cached and (body := traces[0].get(("answer", tag))):
        return tagged(Response(body, mimetype=answers.JSON), tag, by_form=route.by_form)
    response = _response(route, traces, in_path)
    if route.cached:
        body = response.get_data()
        traces[0].keep(("answer", tag), body, len(body))
    return tagged(response, tag, by_form=route.by_form)


def _response(route: Route, about: tuple[Any, ...], in_path: dict[str, str]) -> Response:
    assert route.handler is not None
    asked = {parameter.name: parameter.of(request.args) for parameter in route.asked}
    answer = route.handler(*about, **asked, **in_path)
    return answer if isinstance(answer, Response) else answers.json(answer)
