"""A TCP proxy that breaks connections off after some bytes, as a network does."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType

_PIECE = 1 << 14


class CuttingProxy:
    """Passes connections on to a server until `budget` bytes came back; refuses all after that.

    Args:
        target: host and port of the server.
        budget: bytes that the server may send through; None for no limit.
    """

    def __init__(self, target: tuple[str, int], budget: int | None = None) -> None:
        self.budget = budget
        self.passed = 0
        """Bytes that came back from the server."""
        self._target = target
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self._listening.getsockname())

    def __enter__(self) -> CuttingProxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(self._target) as server:
            asking = threading.Thread(target=self._ask, args=[client, server], daemon=True)
            asking.start()
            while piece := server.recv(_PIECE):
                with self._lock:
                    if self.budget is not None and self.passed + len(piece) > self.budget:
                        client.shutdown(socket.SHUT_RDWR)  # a close alone waits for `_ask`
                        return
                    self.passed += len(piece)
                client.sendall(piece)

    @staticmethod
    def _ask(client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while piece := client.recv(_PIECE):
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)
