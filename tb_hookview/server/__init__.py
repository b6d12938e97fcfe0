"""The HTTP interface, in TensorBoard and on its own."""

from tb_hookview.server.app import create_app
from tb_hookview.server.standalone import Server

__all__ = ["Server", "create_app"]
