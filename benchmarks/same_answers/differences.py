"""The differences found so far: counted by place and kind, each with its first example."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LONGEST = 110


class Kind(Enum):
    """What differs."""

    ADDED = "added field"
    TEXT = "changed text"
    RENAMED = "renamed id"
    REMOVED = "removed field"
    ENTRY = "added entry"
    NUMBER = "changed number"
    TEXT_NUMBER = "changed number in a text"
    ORDER = "changed order"
    LENGTH = "changed length"
    TYPE = "changed type"
    STATUS = "changed status"
    MIXED_IDS = "ids not one to one"
    UNMATCHED = "not comparable"

    @property
    def allowed(self) -> bool:
        """Whether a newer checkout may differ like this."""
        return self in (Kind.ADDED, Kind.TEXT, Kind.RENAMED)


class Spot(NamedTuple):
    """A place in the answers of one kind, over all traces."""

    where: str
    """The route or command."""
    pattern: str
    """The path in the answer, without list indices."""
    kind: Kind


class Words(NamedTuple):
    """A text before and after, with numbers masked."""

    where: str
    pattern: str
    old: str
    new: str
    same_numbers: bool


@dataclass
class Found:
    """How often something differs, where, and the first example."""

    count: int = 0
    traces: set[str] = field(default_factory=set)
    example: str = ""


class Differences:
    """All differences of one run."""

    def __init__(self) -> None:
        self.spots: dict[Spot, Found] = {}
        self.words: Counter[Words] = Counter()
        self.compared: Counter[tuple[str, str]] = Counter()
        """Answers by route or command, and by status."""

    def note(self, spot: Spot, trace: str, path: str, old: Any, new: Any) -> None:
        """Count one difference."""
        found = self.spots.setdefault(spot, Found())
        found.count += 1
        found.traces.add(trace)
        if not found.example:
            found.example = f"{trace} {path}: {shown(old, new)}"

    def note_text(self, where: str, pattern: str, trace: str, path: str, texts: list[str]) -> None:
        """Count a changed text: as a changed number where the words are the same."""
        old, new = (_NUMBER.sub("#", text) for text in texts)
        kind = Kind.TEXT_NUMBER if old == new else Kind.TEXT
        self.note(Spot(where, pattern, kind), trace, path, *texts)
        if kind is Kind.TEXT:
            same = _NUMBER.findall(texts[0]) == _NUMBER.findall(texts[1])
            self.words[Words(where, pattern, old, new, same)] += 1

    def of(self, *kinds: Kind) -> list[tuple[Spot, Found]]:
        """The spots of these kinds, by place."""
        chosen = [(spot, found) for spot, found in self.spots.items() if spot.kind in kinds]
        return sorted(chosen, key=lambda pair: (pair[0].where, pair[0].pattern))

    @property
    def equal(self) -> bool:
        """Whether there are only allowed differences."""
        return all(spot.kind.allowed for spot in self.spots)


def shown(old: Any, new: Any) -> str:
    """`old -> new` on one line; long texts are cut around the first difference."""
    texts = [value if isinstance(value, str) else _as_json(value) for value in (old, new)]
    begin = 0
    if max(map(len, texts)) > _LONGEST:
        pairs = enumerate(zip(*texts, strict=False))
        differs = next((at for at, (one, two) in pairs if one != two), min(map(len, texts)))
        begin = max(0, differs - 30)
    return " -> ".join(_cut(text, begin) for text in texts)


def _cut(text: str, begin: int) -> str:
    part = text[begin : begin + _LONGEST].replace("\n", "\\n")
    return f"{'…' * (begin > 0)}{part}{'…' * (begin + _LONGEST < len(text))}"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[: 100 * _LONGEST]
