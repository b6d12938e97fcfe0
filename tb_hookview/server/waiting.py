"""Whether anybody still waits for an answer: who has closed the page needs none."""

from __future__ import annotations

import socket

from flask import request

from tb_hookview.loading.store import Wanted, always


def client_waits() -> Wanted:
    """Return whether the client of this request keeps its connection open.

    Where the server does not show us the connection, the client counts as waiting.
    """
    connection = request.environ.get("werkzeug.socket")
    if not isinstance(connection, socket.socket) or not hasattr(socket, "MSG_DONTWAIT"):
        return always
    return lambda: _is_open(connection)


def _is_open(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
