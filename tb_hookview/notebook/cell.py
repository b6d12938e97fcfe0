"""The page as the output of a cell: a frame, and one line where it cannot be reached."""

from __future__ import annotations

from html import escape
from json import dumps
from typing import NamedTuple
from uuid import uuid4

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
