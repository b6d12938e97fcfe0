"""Form, headers and errors common to all answers."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

from flask import Flask, Response, request
from isal import igzip
from werkzeug.exceptions import HTTPException

from tb_hookview.cache import program
from tb_hookview.errors import HookviewError, NotFoundError, TraceError, UsageError
from tb_hookview.loading.store import UnwantedError
from tb_hookview.schema.errors import ErrorAnswer, ErrorDetail, ErrorKind
from tb_hookview.server.bounds import bounded

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

_KINDS: dict[type[HookviewError], tuple[ErrorKind, int]] = {
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
        raise UsageError(f"this server answers only to {', '.join(sorted(hosts))} as its name")


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
    kind: ErrorKind = "not_found" if status == 404 else "usage" if status < 500 else "internal"
    message = f"{request.path[:200]}: {error.name.lower()}"
    answer = json(_error(kind, message), status)
    if status == 405:
        answer.headers["Allow"] = "GET, HEAD"
    return answer


def _error(kind: ErrorKind, message: str) -> ErrorAnswer:
    # What was asked for is in it, line breaks included; a message is one line.
    return ErrorAnswer(ErrorDetail(kind, as_text(" ".join(message.splitlines()))))


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
