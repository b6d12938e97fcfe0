"""`hookview serve`: the pages without TensorBoard."""

from __future__ import annotations

import signal
import sys
from types import FrameType

import click


@click.command(short_help="Serve the page without TensorBoard.")
@click.argument("path")
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    help="Port on 127.0.0.1; by default any free one.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
def serve(path: str, port: int, open_browser: bool) -> None:
    """Serve the page for PATH on 127.0.0.1.

    PATH is a log directory, a run, one trace, or the JSON of a dry run.
    """
    from tb_hookview.addresses.text import shown
    from tb_hookview.server import Server

    signal.signal(signal.SIGTERM, _end)
    with Server(path, port=port) as server:
        address = f"{server.url}#/summary"
        click.echo(f"Serving {shown(path)} at {address} (stop with Ctrl+C)")
        if open_browser:
            click.launch(address)
        server.run()


def _end(number: int, _frame: FrameType | None) -> None:
    # Unlike the signal's default it lets readings stop and take their files and processes along.
    signal.signal(number, signal.SIG_DFL)
    sys.exit(128 + number)
