"""The files of the page, out of one folder of the package and nowhere else."""

from __future__ import annotations

from pathlib import Path

from flask import Flask, Response, send_from_directory

import tb_hookview

STATIC = Path(tb_hookview.__file__).resolve().parent / "static"
"""Folder that the build of frontend/ writes the page to."""

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


def install(app: Flask, folder: Path = STATIC) -> None:
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
