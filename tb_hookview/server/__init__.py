"""The HTTP interface of docs/reference/http_api.md, in TensorBoard and on its own.

A route is a row of `routes`, and a function whose docstring's first line says what it answers.

Must not be here: anything that computes a number of the report, torch, tensorboard; a path made out
of a query.
"""

from tb_hookview.server.app import create_app
from tb_hookview.server.standalone import Server

__all__ = ["Server", "create_app"]
