"""The application: it answers what `routes.py` lists."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from flask import Flask, Response, request, send_from_directory

from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.server import answers
from tb_hookview.server.answers import tag_of, tagged
from tb_hookview.server.routes import ROUTES, Route
from tb_hookview.server.served import Served, dry_run_file
from tb_hookview.trace import TraceFile

# The files of the page, out of one folder of the package and nowhere else.


STATIC = Path(__file__).resolve().parents[1] / "static"
"""Where the build of frontend/ leaves the page."""

_NOT_BUILT = """<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>HOOKVIEW</title>
  <body style="font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 4em auto">
    <h1>The page is not built yet</h1>
    <p>This copy of tb_hookview comes from a checkout, and its page has to be built once:</p>
    <pre>make frontend</pre>
    <p>Then load this page again.</p>
  </body>
</html>
"""

_NOT_BUILT_SCRIPT = """export function render() {
  document.title = "HOOKVIEW";
  const text = document.createElement("p");
  text.style.font = "16px/1.5 system-ui, sans-serif";
  text.textContent =
    "The page is not built yet. Run `make frontend` in the checkout of tb_hookview, then reload.";
  document.body.replaceChildren(text);
}
"""


def install_page(app: Flask, folder: Path = STATIC) -> None:
    """Add the page's routes to an application."""

    @app.get("/")
    @app.get("/index.html")
    def index() -> Response:
        if not (folder / "index.html").is_file():
            return Response(_NOT_BUILT, mimetype="text/html")
        return send_from_directory(folder, "index.html")

    @app.get("/index.js")
    def script() -> Response:
        if not (folder / "index.js").is_file():
            return Response(_NOT_BUILT_SCRIPT, mimetype="text/javascript")
        return send_from_directory(folder, "index.js", mimetype="text/javascript")

    @app.get("/assets/<path:name>")
    def asset(name: str) -> Response:
        mimetype = "text/javascript" if name.endswith(".js") else None
        return send_from_directory(folder / "assets", name, mimetype=mimetype)


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
    install_page(app)
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
        files[0], lambda first: _of_traces(served, files[1:], lambda *rest: question(first, *rest))
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
