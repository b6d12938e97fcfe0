"""Tags of answers that depend on nothing but files and a question.

A tag is made of the question, of address and state of each file asked about, and of this program's
own state. So a browser that has the answer already gets a 304 without the trace being read, and a
file that was written again is another answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from flask import Response, request

from tb_hookview.cache import program


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
