"""`hookview mcp`: a server of the Model Context Protocol."""

from __future__ import annotations

from importlib.util import find_spec

import click

from tb_hookview.errors import UsageError


@click.command(short_help="Serve traces to agents (Model Context Protocol).")
@click.option("--root", default=".", show_default=True, help="Folder that the tools may read.")
def mcp(root: str) -> None:
    """Answer a client of the Model Context Protocol on standard input and output.

    Its tools read traces below the root and nothing else, and write nothing there.
    """
    if find_spec("mcp") is None:
        raise UsageError("the package mcp is not installed; pip install 'tb-hookview[mcp,sql]'")
    from tb_hookview.mcp.server import serve

    serve(root)
