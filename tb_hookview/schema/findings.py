"""Findings of the rules as types."""

from __future__ import annotations

import msgspec


class Advice(msgspec.Struct, frozen=True):
    """Something to look at that no trace shows."""

    id: str
    """Id of the rule."""
    title: str
    fix: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that costs time and could be changed."""

    id: str = ""
    """`rule:where`; the report numbers those that share it."""
    rule: str
    severity: str
    """ "info", "low", "medium" or "high"."""
    title: str
    where: str
    """Module and node or operator, as a person reads it."""
    module: str | None
    """Path of the module; None outside every module."""
    module_id: int | None = None
    cost_us_per_step: float | None
    gain_us_per_step: float | None
    """None where the trace cannot tell it; the evidence says so."""
    evidence: str
    fix: str
    confidence: str
    """ "high", "medium" or "low"."""
    reference: str
    advice: list[Advice]
    count: int
    """How often it was seen in the steps that count."""
    examples: list[float]
    """Starts of what was seen, microseconds; the first 20. Of waits: `Sync.start_us`."""
    sync_ids: list[int] = []
    """Those of the examples that are syncs which it explains."""
    caveats: list[str]
    """Sentences about what may make the figures wrong."""
