"""`hookview.show`: the page in a cell, or its address where there is no notebook."""

from __future__ import annotations

import os
import sys
import threading
from html import escape
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import uuid4

from tb_hookview.addresses.text import is_address, shown
from tb_hookview.errors import UsageError
from tb_hookview.ranks.result import RunReport
from tb_hookview.report.result import Report
from tb_hookview.server import Server

_HTML = """<div id="{id}">
<iframe src="{url}" title="HookView" width="100%" height="{height}" style="border: 0"
  allow="clipboard-write; fullscreen"></iframe>
<p hidden>This browser cannot reach the page of {name} at {url}. Run the cell again if its kernel
has ended; if the kernel is on another machine, install jupyter-server-proxy there and run the
cell again.</p>
</div>
<script>{script}</script>
"""

_SCRIPT = """(async (id, url, port, path) => {
  const cell = document.getElementById(id);
  const frame = cell.querySelector("iframe");
  const answers = (address, options) => fetch(address, options).then(
    (answer) => answer.ok || answer.type === "opaque", () => false);
  if (await answers(url, { mode: "no-cors" })) return;
  const config = document.getElementById("jupyter-config-data");
  const base = config ? JSON.parse(config.textContent).baseUrl : "/";
  const proxied = new URL(`${base}proxy/${port}${path}`, location.href).href;
  if (config && await answers(proxied)) { frame.src = proxied; return; }
  frame.hidden = true;
  cell.querySelector("p").hidden = false;
})"""
"""Where 127.0.0.1 is another machine's, what jupyter-server-proxy serves at its path is tried."""


class Cell(NamedTuple):
    """What a cell shows."""

    name: str
    """What is served, as text."""
    port: int
    path: str
    """Of the page on that port, with what follows `#`."""
    url: str
    """The whole of its address on this machine."""
    height: int
    """CSS pixels."""

    def __repr__(self) -> str:
        """One line, for where there is no HTML."""
        return f"HookView of {self.name}: {self.url}"

    def _repr_html_(self) -> str:
        id_ = f"hookview-{uuid4().hex}"
        arguments = dumps([id_, self.url, self.port, self.path]).replace("<", "\\u003c")
        return _HTML.format(
            id=id_,
            url=escape(self.url),
            name=escape(self.name),
            height=self.height,
            script=f"{_SCRIPT}(...{arguments});",
        )


_servers: dict[str, Server] = {}
_lock = threading.Lock()


def server_of(path: str | Path) -> Server:
    """The server of a log directory, a run folder or a trace file, started on first use.

    It answers on a daemon thread, so that it ends with the process.

    Raises:
        TraceError: there is no such file or folder.
    """
    key = str(path) if is_address(path) else os.path.realpath(path)
    with _lock:
        if key not in _servers:
            server = Server(path if is_address(path) else key, secret=True)
            threading.Thread(target=server.run, name="hookview", daemon=True).start()
            _servers[key] = server
        return _servers[key]


def _forget() -> None:
    # A forked process has none of its parent's threads, so nobody answers there.
    global _lock
    _lock = threading.Lock()
    _servers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


VIEWS = (
    "summary",
    "modules",
    "syncs",
    "operators",
    "kernels",
    "timeline",
    "memory",
    "ranks",
    "history",
    "findings",
    "whatif",
    "query",
    "compare",
)
"""Views of the page, as its addresses name them."""


def show(
    report_or_path: Report | RunReport | str | Path, *, height: int = 800, view: str | None = None
) -> None:
    """Show the page in this cell of a notebook; outside of one, print its address.

    The page is served on 127.0.0.1 by a thread of this process, below an address that cannot be
    guessed, until the process ends. Nothing is served but what is named here.

    Args:
        report_or_path: a log directory, a run or a trace file, as a path or an address
            (`s3://...`); or the report of a trace or of a run, whose files must still be there.
        height: of the frame in the cell, in CSS pixels.
        view: what the page opens at, as `modules`; by default the summary, of a run the ranks.

    Raises:
        TraceError: there is no such file or folder.
        UsageError: there is no such view, the height is not positive, or the argument is neither
            a path nor a report.
    """
    if view is not None and view not in VIEWS:
        raise UsageError(f"no view is called {view!r}; there are {', '.join(VIEWS)}")
    if height <= 0:
        raise UsageError(f"height={height}: not a number of pixels above 0")
    path, usual_view, query = _place(report_or_path)
    server = server_of(path)
    hash_ = f"#/{view or usual_view}{query}"
    if "google.colab" in sys.modules:
        _show_in_colab(server, hash_, height)
        return
    cell = Cell(shown(path), server.port, f"{server.prefix}{hash_}", server.url + hash_, height)
    if _in_notebook():
        from IPython.display import display

        display(cell)
    else:
        sys.stdout.write(f"{cell}\n")


def _place(what: Any) -> tuple[str, str, str]:
    """The path to serve, the view that its page opens at, and what follows that in the address."""
    if isinstance(what, Report):
        steps = what.data.steps
        # The page shows one step or all of them.
        query = f"?step={quote(steps[0].name, safe='')}" if len(steps) == 1 else ""
        return what.data.trace.path, "summary", query
    if isinstance(what, RunReport):
        return what.data.path, "ranks", ""
    if not isinstance(what, str | os.PathLike) or not str(what):
        kind = type(what).__name__
        raise UsageError(f"{kind} cannot be shown; give a path, or what analyze returned")
    return os.fspath(what), "summary", ""


def _in_notebook() -> bool:
    """Whether a notebook shows what this process displays; a terminal's IPython shows text."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _show_in_colab(server: Server, hash_: str, height: int) -> None:
    # A browser reaches the ports of a machine of Colab only through its proxy.
    from google.colab import output

    output.serve_kernel_port_as_iframe(
        server.port, path=f"{server.prefix}{hash_}", height=str(height)
    )
