"""Answers that hang on nothing but a file and a question: tagged, kept compressed, given again.

The tag of an answer is made of the question, of path, size and time of each file asked about, and
of this program's own state. So a browser that has the answer already is told so without the trace
being read, and a file written anew is another answer.

Answers that take a while are kept in memory, and on disk for the next server; there they hang on
the content of the files.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from flask import Flask, Response, g, request
from isal import igzip

from tb_hookview.cache import Source, about, file_state, later, program
from tb_hookview.errors import HookviewError
from tb_hookview.server import answers
from tb_hookview.server.selection import RunList

KEPT_BYTES = 64 << 20
"""Compressed bytes of answers that are kept."""

LEVEL = 2
"""igzip's second best: a tenth smaller than the quickest, and still quicker than the network."""

COMPARE = "/api/compare"
KEPT = frozenset({"/api/report", "/api/module", COMPARE, "/api/timeline"})
"""Questions that come again and take a while to answer: kept in memory and on disk."""
KIND = "answer"

TAGGED = (
    KEPT
    | {"/api/module/bars", "/api/module/search"}
    | {f"/api/timeline/{of}" for of in ("window", "event", "search", "statistics")}
)
OTHER = "other_"
"""What the names of a second trace begin with."""


class _Asked(NamedTuple):
    """A question about traces."""

    tag: str
    key: tuple[str, ...]
    """The question itself, without the state of the files."""
    paths: tuple[Path, ...]


class Kept(NamedTuple):
    """The body of an answer, compressed where that is worth it."""

    body: bytes
    packed: bool


class AnswerCache:
    """Answers by tag, least recently used ones dropped first. Safe to use from many threads."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, tag: str) -> Kept | None:
        """Return the answer of that tag, if it is kept."""
        with self._lock:
            found = self._kept.get(tag)
            if found is not None:
                self._kept.move_to_end(tag)
            return found

    def put(self, tag: str, answer: Kept) -> None:
        """Keep an answer, and drop the oldest for it; one larger than all that may be is not."""
        if len(answer.body) > self._kept_bytes:
            return
        with self._lock:
            before = self._kept.pop(tag, None)
            self._bytes += len(answer.body) - (len(before.body) if before else 0)
            self._kept[tag] = answer
            while self._bytes > self._kept_bytes:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= len(dropped.body)


def install(app: Flask, listed: RunList, kept: AnswerCache) -> None:
    """Tag and keep an application's answers about traces; call it after `answers.install`, whose
    compression then leaves alone what is compressed here."""

    @app.before_request
    def answer_again() -> Response | None:
        asked = _asked(listed) if request.path in TAGGED else None
        if asked is None:
            return None
        if request.if_none_match.contains_weak(asked.tag):
            return _tagged(Response(status=304), asked.tag)
        found = kept.get(asked.tag)
        if found is None:
            source = about(*asked.paths) if request.path in KEPT else None
            found = _recalled(source, asked)
            if found is None:
                g.hookview_asked, g.hookview_source = asked, source
                return None
            kept.put(asked.tag, found)
        return _tagged(_answer(found), asked.tag)

    @app.after_request
    def keep(response: Response) -> Response:
        asked: _Asked | None = g.get("hookview_asked")
        if asked is None or response.status_code != 200:
            return response
        if request.path in KEPT:
            made = _pack(response.get_data())
            kept.put(asked.tag, made)
            _keep_on_disk(g.hookview_source, asked, made)
            response = _answer(made)
        return _tagged(response, asked.tag)


_FORMS = (b"plain", b"gzip_")
"""What stands before a body on disk, by whether it is compressed."""


def _keep_on_disk(source: Source | None, asked: _Asked, made: Kept) -> None:
    if source is not None:
        later(lambda: source.put(KIND, [_FORMS[made.packed], made.body], *asked.key))


def _recalled(source: Source | None, asked: _Asked) -> Kept | None:
    content = source.get(KIND, *asked.key) if source else None
    if content is None:
        return None
    length = len(_FORMS[0])
    return Kept(bytes(content[length:]), packed=content[:length] == _FORMS[True])


def _pack(body: bytes) -> Kept:
    if len(body) < answers.SMALLEST_COMPRESSED:
        return Kept(body, packed=False)
    return Kept(igzip.compress(body, LEVEL, mtime=0), packed=True)


def _unpacked(body: bytes) -> bytes:
    plain: bytes = igzip.decompress(body)  # type: ignore[no-untyped-call]
    return plain


def _answer(kept: Kept) -> Response:
    accepted = request.accept_encodings["gzip"] > 0
    body = kept.body if accepted or not kept.packed else _unpacked(kept.body)
    response = Response(body, mimetype="application/json")
    if kept.packed and accepted:
        response.headers["Content-Encoding"] = "gzip"
    return response


def _tagged(response: Response, tag: str) -> Response:
    # Weak: the compressed and the plain form of an answer bear the same one.
    response.set_etag(tag, weak=True)
    return response


def _asked(listed: RunList) -> _Asked | None:
    """What is asked for; None where it names no traces, or none that are there."""
    query = request.args
    sides = [prefix for prefix in ("", OTHER) if f"{prefix}run" in query]
    try:
        paths = tuple(listed.choose(query, side).path for side in sides)
        states = [tuple(file_state(path)) for path in paths]
    except (HookviewError, OSError):
        return None  # the route says what is wrong
    if not states or (request.path == COMPARE and len(states) < 2):
        return None
    # An answer may name the file.
    key = (request.path, repr(request.query_string), *map(str, paths))
    tag = hashlib.sha256(repr((key, states, program())).encode()).hexdigest()[:32]
    return _Asked(tag, key, paths)
