"""Asks both checkouts the same question and compares the answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .checkout import Reply, Server
from .differences import Differences, Kind, Spot
from .walk import Ids, Walk

Query = list[tuple[str, Any]]
Both = tuple[Any, Any]


class Asking:
    """Asks both servers at once."""

    def __init__(self, servers: Sequence[Server], differences: Differences) -> None:
        self._servers, self.differences = servers, differences
        self._threads = ThreadPoolExecutor(len(servers))

    def ask(
        self,
        route: str,
        trace: str,
        query: Query,
        other: Query | None = None,
        ids: Ids | None = None,
    ) -> Both:
        """Both answers, compared; `other` is the query for the second server where it differs."""
        queries = (query, query if other is None else other)
        replies = list(self._threads.map(lambda s, q: s.ask(route, q), self._servers, queries))
        return compare_replies(self.differences, f"GET {route}", trace, replies, ids)


def compare_replies(
    differences: Differences,
    where: str,
    trace: str,
    replies: Sequence[Reply],
    ids: Ids | None = None,
) -> Both:
    """Compare two answers as JSON, or as texts where they are not JSON."""
    old, new = replies
    differences.compared[where, old.status] += 1
    decoded = decode(old.body), decode(new.body)
    walk = Walk(differences, where, trace, ids)
    if old.status != new.status:
        reasons = [f"{reply.status} {_reason(reply)}" for reply in replies]
        differences.note(Spot(where, ".", Kind.STATUS), trace, "", *reasons)
        return decoded
    walk.at("stderr", old.messages, new.messages)
    if old.body != new.body or ids:
        walk.compare(*decoded)
    return decoded


def decode(body: bytes) -> Any:
    """The JSON of an answer, or its text."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def spread(rows: Sequence[Any], most: int) -> list[Any]:
    """Some of the rows, at equal distances, the first and last among them."""
    if len(rows) <= most:
        return list(rows)
    if most == 1:
        return [rows[len(rows) // 2]]
    return [rows[at * (len(rows) - 1) // (most - 1)] for at in range(most)]


def _reason(reply: Reply) -> str:
    return reply.messages.strip() or reply.body[:200].decode(errors="replace")
