"""The words in which a report speaks of work, apart from what tells them: who only reads a report
needs no arithmetic."""

from __future__ import annotations

from enum import IntEnum

KINDS = (
    "matrix",
    "convolution",
    "attention",
    "normalization",
    "elementwise",
    "reduction",
    "indexing",
    "copy",
    "set",
    "communication",
    "other",
)
"""Kinds of device work, in the order in which they are shown."""


class Phase(IntEnum):
    """Phases, first match first."""

    BACKWARD = 0
    OPTIMIZER = 1
    DATA = 2
    FORWARD = 3
    OTHER = 4
