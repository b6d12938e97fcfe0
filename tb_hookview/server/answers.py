"""What is common to all answers: their bounds, form, headers and errors; how they are made."""

from __future__ import annotations

import hashlib
import logging
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from flask import Flask, Response, request
from isal import igzip
from werkzeug.exceptions import HTTPException

from tb_hookview import schema
from tb_hookview.cache import program
from tb_hookview.errors import HookviewError, NotFoundError, TraceError, UsageError
from tb_hookview.loading.store import UnwantedError, Wanted, always
from tb_hookview.trace import Run, TraceEntry
from tb_hookview.trace.source.runs import Listing, is_offered, list_runs

# No answer is larger than a page should take at once: long lists of rows are cut, and counted.


MOST_BYTES = 1_000_000
"""Bytes of an answer's JSON before compression."""
ROOM_FOR_CUT = 2000
"""Bytes that are left for `cut` itself."""
DEEPEST = 3
"""How deep lists are looked for."""


def bounded(value: Any) -> bytes:
    """Return a value as JSON of at most `MOST_BYTES`.

    The largest lists of objects lose their last rows; all may take as much as is needed for the sum
    to fit. A field `cut` of the answer then holds how many rows each list has lost, by its path
    ("comparison.modules").

    Raises:
        UsageError: the answer is larger even without them.
    """
    body = msgspec.json.encode(value)
    return body if len(body) <= MOST_BYTES else _cut(msgspec.json.decode(body), len(body))


def fitting(rows: Iterable[Any], room: int = MOST_BYTES - ROOM_FOR_CUT) -> int:
    """How many of some rows, from the first on, take at most `room` bytes as JSON."""
    return sum(1 for _ in takewhile(lambda total: total <= room, accumulate(map(_bytes, rows))))


def _cut(answer: Any, size: int) -> bytes:
    lists = dict(_lists(answer, "", DEEPEST)) if isinstance(answer, dict) else {}
    sizes = {path: sum(map(_bytes, holder[key])) for path, (holder, key) in lists.items()}
    room = MOST_BYTES - ROOM_FOR_CUT - (size - sum(sizes.values()))
    most = level(sorted(sizes.values()), room)
    cut = {}
    for path, (holder, key) in lists.items():
        rows = holder[key]
        holder[key] = rows[: fitting(rows, most)]
        if len(holder[key]) < len(rows):
            cut[path] = len(rows) - len(holder[key])
    body = msgspec.json.encode({**answer, "cut": cut} if cut else answer)
    if len(body) > MOST_BYTES:
        raise UsageError(
            f"this answer would have {size / 1e6:.1f} MB, more than the {MOST_BYTES / 1e6:.0f} MB"
            " that an answer may have; ask for less, as fewer rows, lanes, paths or pixels"
        )
    return body


def _lists(value: dict[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Lists of objects, by path, each as what holds it and under which name."""
    for key, inner in value.items():
        if isinstance(inner, list) and inner and all(isinstance(row, dict) for row in inner):
            yield f"{prefix}{key}", (value, key)
        elif isinstance(inner, dict) and depth > 1:
            yield from _lists(inner, f"{prefix}{key}.", depth - 1)


def level(sizes: Sequence[int], room: int) -> int:
    """The most that each of some sizes, in ascending order, may have for their sum to fit."""
    for at, size in enumerate(sizes):
        share = room // (len(sizes) - at)
        if size > share:
            return max(share, 0)
        room -= size
    return max(sizes, default=0)


def _bytes(row: Any) -> int:
    return len(msgspec.json.encode(row)) + 1


_log = logging.getLogger(__name__)

FRAMED_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; object-src 'none'"
)
"""No script but ours, none written into the page, nothing from another server."""

PAGE_POLICY = f"{FRAMED_POLICY}; frame-ancestors 'self'"
"""The same, and pages of other servers may not show it in a frame."""

JSON = "application/json"

SMALLEST_COMPRESSED = 1024
"""Bytes below which compression saves no packet."""

_COMPRESSIBLE = {JSON, "text/html", "text/css", "text/javascript", "image/svg+xml"}

_KINDS: dict[type[HookviewError], tuple[schema.ErrorKind, int]] = {
    NotFoundError: ("not_found", 404),
    UsageError: ("usage", 400),
    TraceError: ("trace", 422),
    UnwantedError: ("unwanted", 503),
}


def install(app: Flask, hosts: Collection[str] | None, policy: str = PAGE_POLICY) -> None:
    """Give an application's answers their common form, and its pages a policy."""
    # A doubled slash is an unknown address like any other, never a redirect to what follows it.
    app.url_map.merge_slashes = False
    if hosts is not None:
        app.before_request(lambda: _check_host(hosts))
    app.register_error_handler(Exception, _answer_error)
    app.after_request(partial(_harden, policy))
    app.after_request(_compress)


def json(value: Any, status: int = 200) -> Response:
    """Return a value as a JSON answer; a float that is not finite becomes null.

    Raises:
        UsageError: it is too large, and not for its rows.
    """
    return Response(bounded(value), status, mimetype=JSON)


def as_text(name: str) -> str:
    """Return a name as JSON can carry it. Bytes of a file's name that are no UTF-8 become "?"."""
    return name.encode("utf-8", "replace").decode()


def _check_host(hosts: Collection[str]) -> None:
    # A page elsewhere can point a name of its own at 127.0.0.1 and read what is served here; its
    # requests still carry that name.
    name = request.headers.get("Host", "")
    if not name.endswith("]"):
        name = name.rsplit(":", 1)[0]
    if name.lower() not in hosts:
        raise UsageError(f"this server answers only requests to {', '.join(sorted(hosts))}")


def _answer_error(error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return _answer_http_error(error)
    for error_type, (kind, status) in _KINDS.items():
        if isinstance(error, error_type):
            return json(_error(kind, str(error)), status)
    _log.error("%s failed", request.path, exc_info=error)
    return json(_error("internal", "hookview failed on this; its log says why"), 500)


def _answer_http_error(error: HTTPException) -> Response:
    status = error.code or 500
    kind: schema.ErrorKind = (
        "not_found" if status == 404 else "usage" if status < 500 else "internal"
    )
    message = f"{request.path[:200]}: {error.name.lower()}"
    answer = json(_error(kind, message), status)
    if status == 405:
        answer.headers["Allow"] = "GET, HEAD"
    return answer


def _error(kind: schema.ErrorKind, message: str) -> schema.ErrorAnswer:
    # What was asked for is in it, line breaks included; a message is one line.
    return schema.ErrorAnswer(schema.ErrorDetail(kind, as_text(" ".join(message.splitlines()))))


def _harden(policy: str, response: Response) -> Response:
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-cache"
    if response.mimetype == "text/html":
        response.headers["Content-Security-Policy"] = policy
    return response


def _compress(response: Response) -> Response:
    if response.mimetype not in _COMPRESSIBLE or response.status_code != 200:
        return response
    response.vary.add("Accept-Encoding")
    if request.accept_encodings["gzip"] <= 0 or "Content-Encoding" in response.headers:
        return response
    response.direct_passthrough = False
    body = response.get_data()
    if len(body) >= SMALLEST_COMPRESSED:
        response.set_data(igzip.compress(body, 1, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response


def tag_of(states: Iterable[object], *, by_form: bool) -> str:
    """Return the tag of the answer to this request.

    Args:
        states: address and state of the files that it is about.
        by_form: whether the form of the answer is what the client accepts.
    """
    form = request.headers.get("Accept") if by_form else None
    asked = (request.path, repr(request.query_string), form, [*states], program())
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:32]


def tagged(response: Response, tag: str, *, by_form: bool) -> Response:
    """Return a response with its tag; an error has none."""
    if response.status_code in (200, 304):
        if by_form:
            response.vary.add("Accept")
        # Weak: the compressed and the plain form of an answer have the same one.
        response.set_etag(tag, weak=True)
    return response


# The trace that a query names. Names are looked up in the list of runs; none becomes a path.


Named = TypeVar("Named")


class RunList:
    """Runs of a log directory, run folder or trace file; none for None."""

    def __init__(self, logdir: str | Path | None) -> None:
        self._logdir = logdir
        self._last: list[Run] | None = None

    def listing(self) -> Listing:
        """Look at the file system.

        Raises:
            TraceError: the log directory is gone or cannot be listed.
        """
        found = Listing([]) if self._logdir is None else list_runs(self._logdir)
        self._last = found.runs
        return found

    def last(self) -> list[Run]:
        """Return what was found the last time, for requests that come often."""
        return self.listing().runs if self._last is None else self._last

    def choose(self, query: Mapping[str, str], prefix: str = "") -> TraceEntry:
        """Return the trace that a query names, as `select`.

        Looks at the file system for the newest trace, and for names not known yet.

        Raises:
            UsageError, NotFoundError, TraceError: as `select` and `listing`.
        """
        if f"{prefix}trace" in query:
            try:
                return self.offered(select(self.last(), query, prefix))
            except NotFoundError:
                pass
        return self.offered(select(self.listing().runs, query, prefix))

    def choose_run(self, query: Mapping[str, str]) -> Run:
        """Return the run that a query names, as `run` of `select`; looks at the file system.

        Raises:
            UsageError, NotFoundError, TraceError: as `select` and `listing`.
        """
        return _run(self.listing().runs, query, "")

    def offered(self, trace: TraceEntry, real: Callable[[Path], Path] | None = None) -> TraceEntry:
        """Return a trace, unless it lies outside of the log directory; `real` as in `is_offered`.

        Raises:
            NotFoundError: it does.
        """
        if self._logdir is not None and not is_offered(self._logdir, trace.file, real):
            name = as_text(trace.file.name)
            raise NotFoundError(f"{name}: leads out of the log directory; load the list again")
        return trace


def describe_runs(runs: Iterable[Run]) -> list[schema.ListedRun]:
    """Return the runs as `api/runs` lists them."""
    return [
        schema.ListedRun(
            name=as_text(run.name),
            workers=[
                schema.ListedWorker(
                    name=as_text(worker.name), traces=[_describe(trace) for trace in worker.traces]
                )
                for worker in run.workers
            ],
        )
        for run in runs
    ]


def select(runs: Iterable[Run], query: Mapping[str, str], prefix: str = "") -> TraceEntry:
    """Return the trace that `run`, `worker` and `trace` of a query name.

    Args:
        runs: those there are.
        query: the parameters.
        prefix: what the names of these three parameters begin with.

    Raises:
        UsageError: `run` or `worker` is missing.
        NotFoundError: there is no such run, worker or trace.
    """
    run = _run(runs, query, prefix)
    workers = {as_text(worker.name): worker for worker in run.workers}
    worker = _named("worker", _required(query, f"{prefix}worker"), workers)
    if f"{prefix}trace" not in query:
        return worker.traces[0]
    traces = {as_text(trace.id): trace for trace in worker.traces}
    return _named("trace", query[f"{prefix}trace"], traces)


def _run(runs: Iterable[Run], query: Mapping[str, str], prefix: str) -> Run:
    return _named("run", _required(query, f"{prefix}run"), {as_text(run.name): run for run in runs})


def _describe(trace: TraceEntry) -> schema.ListedTrace:
    return schema.ListedTrace(
        id=as_text(trace.id),
        file=as_text(trace.file.name),
        bytes=trace.size,
        modified=trace.modified,
    )


def _required(query: Mapping[str, str], key: str) -> str:
    if not query.get(key):
        raise UsageError(f"the query needs {key}=NAME, one of those that api/runs lists")
    return query[key]


def _named(kind: str, name: str, known: Mapping[str, Named]) -> Named:
    if name not in known:
        raise NotFoundError(f"no {kind} is called {name[:200]!r} (any longer); load the list again")
    return known[name]


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
