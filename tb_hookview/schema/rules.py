"""The rules that traces are checked against, as they are listed."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Confidence = Literal["high", "medium", "low"]
Family = Literal[
    "sync",
    "data-loading",
    "data-movement",
    "memory",
    "host",
    "kernels",
    "optimizer",
    "precision",
    "compile",
    "distributed",
]


class RuleInfo(Struct, frozen=True):
    """A rule, without a trace."""

    id: str
    family: Family
    title: str
    """The problem, as a phrase that stands by itself."""
    visible: bool
    """Whether a trace can show it; if not, it appears as advice under other findings."""
    matches: str
    """Condition on a trace under which it holds, in words."""
    fix: str
    """The fix, in whole sentences."""
    reference: str
    confidence: Confidence
    advice: list[str]
    """Ids of rules that no trace shows and that belong under this one's findings."""
