"""The application on a port of its own, reachable from this machine only."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import WSGIRequestHandler, make_server

from tb_hookview.errors import UsageError
from tb_hookview.server.answers import FRAMED_POLICY
from tb_hookview.server.app import create_app
from tb_hookview.trace.source.runs import find_runs

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

ADDRESS = "127.0.0.1"

HOSTS = frozenset({ADDRESS, "localhost", "[::1]"})

_log = logging.getLogger(__name__)


class Server:
    """Serves a log directory, a run folder or one trace file on 127.0.0.1.

    Args:
        path: what to serve, a path or an address.
        port: the port, 0 for any that is free.
        secret: serve below a random path, known only to who is given `url`. That guards the
            server: requests may come through a proxy under any host name, and pages of other
            servers may show ours in a frame.

    Raises:
        TraceError: there is no such file or folder.
        UsageError: the port cannot be had.
    """

    def __init__(self, path: str | Path, *, port: int = 0, secret: bool = False) -> None:
        find_runs(path)
        self.prefix = f"/{token_urlsafe()}/" if secret else "/"
        """Path of the page, with slashes around it."""
        self._socket = _listen(port)
        self._server = make_server(
            ADDRESS,
            self.port,
            _mounted(path, self.prefix) if secret else create_app(path, hosts=HOSTS),
            threaded=True,
            request_handler=_QuietHandler,
            fd=self._socket.fileno(),
        )

    @property
    def url(self) -> str:
        """Address of the pages."""
        return f"http://{ADDRESS}:{self.port}{self.prefix}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._socket.getsockname()[1])

    def run(self) -> None:
        """Answer requests until interrupted, or until `close` is called on another thread."""
        self._server.serve_forever()

    def close(self) -> None:
        """Stop answering and give the port back."""
        self._server.shutdown()
        self.__exit__()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()
        self._socket.close()


class _QuietHandler(WSGIRequestHandler):
    """Says nothing of requests that were answered."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log at a level nobody sees unless they ask."""
        _log.debug("%s %s %s", self.requestline, code, size)


def _mounted(path: str | Path, prefix: str) -> WSGIApplication:
    """The application below a path; there is nothing elsewhere."""
    app = create_app(path, policy=FRAMED_POLICY)
    return DispatcherMiddleware(NotFound(), {prefix.rstrip("/"): app})


def _listen(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((ADDRESS, port))
    except OSError as error:
        made.close()
        reason = f"port {port} cannot be used ({error.strerror})"
        raise UsageError(f"{reason}; choose another with --port, or none for a free one") from error
    made.listen(128)
    return made
