"""Walks two decoded answers at once and notes where they differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .differences import Differences, Kind, Spot

_ID_KEYS = ("id", "lane", "event")
_LANE_LISTS = ("lanes", "curves")

Leaf = tuple[tuple[str, ...], Any]


class Ids:
    """Ids of one trace in both checkouts; names may differ, but one to one."""

    def __init__(self) -> None:
        self._forth: dict[tuple[str, Any], Any] = {}
        self._back: dict[tuple[str, Any], Any] = {}

    def agree(self, group: str, old: Any, new: Any) -> bool:
        """Whether this pair fits all pairs before."""
        forth = self._forth.setdefault((group, old), new)
        back = self._back.setdefault((group, new), old)
        return bool(forth == new and back == old)


class Walk:
    """Compares the answers to one question."""

    def __init__(
        self, differences: Differences, where: str, trace: str, ids: Ids | None = None
    ) -> None:
        self._differences, self._where, self._trace, self._ids = differences, where, trace, ids
        self._path: list[str | int] = []

    def compare(self, old: Any, new: Any) -> None:
        """Note all differences between two values."""
        if isinstance(old, dict) and isinstance(new, dict):
            self._dicts(old, new)
        elif isinstance(old, list) and isinstance(new, list):
            self._lists(old, new)
        elif isinstance(old, str) and isinstance(new, str):
            if old != new:
                where = (self._where, _pattern(self._path), self._trace, _exact(self._path))
                self._differences.note_text(*where, [old, new])
        elif _is_number(old) and _is_number(new):
            # A NaN differs from itself.
            if old != new and (old == old or new == new):
                self.note(Kind.NUMBER, old, new)
        elif type(old) is not type(new) or old != new:
            self.note(Kind.TYPE, old, new)

    def at(self, key: str | int, old: Any, new: Any) -> None:
        """Compare two values that lie at a key or index."""
        with self.inside(key):
            self.compare(old, new)

    @contextmanager
    def inside(self, *keys: str | int) -> Iterator[None]:
        """Have what is noted in the block lie at these keys, one in the other."""
        self._path.extend(keys)
        yield
        del self._path[-len(keys) :]

    def note(self, kind: Kind, old: Any, new: Any) -> None:
        """Note a difference at the present place."""
        spot = Spot(self._where, _pattern(self._path), kind)
        self._differences.note(spot, self._trace, _exact(self._path), old, new)

    def _dicts(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        for key in (*old, *(key for key in new if key not in old)):
            self._path.append(key)
            if key not in new:
                self.note(Kind.REMOVED, old[key], None)
            elif key not in old:
                # A key that is no name is data, such as the path of a module.
                self.note(Kind.ADDED if key.isidentifier() else Kind.ENTRY, None, new[key])
            elif self._ids and key in _ID_KEYS:
                self._compare_ids(key, old[key], new[key])
            else:
                self.compare(old[key], new[key])
            self._path.pop()

    def _compare_ids(self, key: str, old: Any, new: Any) -> None:
        if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            for one, two in zip(old, new, strict=True):
                self._compare_ids(key, one, two)
            return
        if isinstance(old, list | dict) or isinstance(new, list | dict) or None in (old, new):
            self.compare(old, new)
            return
        parents = [part for part in self._path[:-1] if isinstance(part, str)]
        of_lane = key == "lane" or (key == "id" and parents[-1:] and parents[-1] in _LANE_LISTS)
        assert self._ids
        if not self._ids.agree("lane" if of_lane else "event", old, new):
            self.note(Kind.MIXED_IDS, old, new)
        elif old != new:
            self.note(Kind.RENAMED, old, new)

    def _lists(self, old: list[Any], new: list[Any]) -> None:
        if len(old) != len(new):
            self.note(Kind.LENGTH, len(old), len(new))
            return
        order = range(len(old)) if old == new else self._order(old, new)
        if any(at != place for at, place in enumerate(order)):
            self.note(Kind.ORDER, old, new)
        for at, (one, place) in enumerate(zip(old, order, strict=True)):
            two = new[place]
            if isinstance(one, list | dict) or one != two or type(one) is not type(two):
                self.at(at, one, two)

    def _order(self, old: list[Any], new: list[Any]) -> list[int] | range:
        """Where each element of `old` is in `new`; their own places where none can be found.

        Elements are recognized by the fields that both sides have, or if words changed, by numbers.
        """
        leaves = [[list(self._leaves(row)) for row in rows] for rows in (old, new)]
        paths = [{path for row in rows for path, _ in row} for rows in leaves]
        common = paths[0] & paths[1]
        for wanted in (_any, _is_number):
            prints = [
                [
                    tuple(leaf for leaf in row if leaf[0] in common and wanted(leaf[1]))
                    for row in rows
                ]
                for rows in leaves
            ]
            if prints[0] == prints[1]:
                break
            if Counter(prints[0]) == Counter(prints[1]):
                places = defaultdict(list)
                for place in reversed(range(len(new))):
                    places[prints[1][place]].append(place)
                return [places[row].pop() for row in prints[0]]
        return range(len(old))

    def _leaves(self, value: Any, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
        if isinstance(value, dict):
            for key in sorted(value):
                if not (self._ids and key in _ID_KEYS):
                    yield from self._leaves(value[key], (*path, key))
        elif isinstance(value, list):
            for part in value:
                yield from self._leaves(part, (*path, "[]"))
        else:
            yield path, value


def _any(_: Any) -> bool:
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _pattern(path: list[str | int]) -> str:
    parts = ("[]" if isinstance(p, int) else f".{p}" if p.isidentifier() else ".{}" for p in path)
    return "".join(parts) or "."


def _exact(path: list[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
