"""Answers that depend on nothing but a file and a question: tagged, and cached.

The tag of an answer is made of the question, of address and state of each file asked about, and of
this program's own state. So a browser that has the answer already gets a 304 without the trace
being read, and a file that was written again is another answer.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from threading import Lock

from cachetools import LRUCache
from flask import Flask, Response, g, request

from tb_hookview.cache import program
from tb_hookview.errors import HookviewError
from tb_hookview.server.requests import RunList

CACHED_BYTES = 64 << 20
"""Bytes of answers that are cached."""

COMPARE = "/api/compare"
WHAT_IF = ("/api/whatif", "/api/whatif/lanes")
CACHED = frozenset({"/api/report", "/api/module", *WHAT_IF, COMPARE, "/api/timeline"})
"""Questions that come again and take a while to answer."""

TAGGED = (
    CACHED
    | {"/api/report/rows", "/api/module/bars", "/api/module/search"}
    | {f"/api/timeline/{of}" for of in ("window", "event", "search", "statistics")}
)
TABLES = "/api/table/"
"""Prefix of questions that are tagged as well; their answers are JSON or Arrow, by `Accept`."""
OTHER = "other_"
"""Prefix of the parameters of a second trace."""


def install(app: Flask, listed: RunList) -> None:
    """Tag and cache an application's answers about traces. Call it after `answers.install`, which
    then compresses what is cached here."""
    cached: LRUCache[str, bytes] = LRUCache(CACHED_BYTES, len)
    lock = Lock()

    @app.before_request
    def answer_again() -> Response | None:
        tag = _tag(listed) if request.path in TAGGED or _of_table() else None
        if tag is None:
            return None
        if request.if_none_match.contains_weak(tag):
            return _tagged(Response(status=304), tag)
        with lock:
            found = cached.get(tag)
        if found is None:
            g.hookview_tag = tag
            return None
        return _tagged(Response(found, mimetype="application/json"), tag)

    @app.after_request
    def store(response: Response) -> Response:
        tag: str | None = g.get("hookview_tag")
        if tag is None or response.status_code != 200:
            return response
        if request.path in CACHED:
            with lock, suppress(ValueError):  # one that is larger than all there may be
                cached[tag] = response.get_data()
        return _tagged(response, tag)


def _of_table() -> bool:
    return request.path.startswith(TABLES)


def _tagged(response: Response, tag: str) -> Response:
    if _of_table():
        response.vary.add("Accept")
    # Weak: the compressed and the plain form of an answer have the same one.
    response.set_etag(tag, weak=True)
    return response


def _tag(listed: RunList) -> str | None:
    """Return the tag of the query; None where it names no trace that is there."""
    query = request.args
    sides = [prefix for prefix in ("", OTHER) if f"{prefix}run" in query]
    try:
        files = [listed.choose(query, side).file for side in sides]
        states = [(file.address, *file.state()) for file in files]
    except (HookviewError, OSError):
        return None  # the route says what is wrong
    if not states or (request.path == COMPARE and len(states) < 2):
        return None
    form = request.headers.get("Accept") if _of_table() else None
    asked = (request.path, repr(request.query_string), form, states, program())
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:32]
