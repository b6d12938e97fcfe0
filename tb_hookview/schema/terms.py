"""Kinds of device work and phases, by the names that reports use."""

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


COUNTED = "counted"
"""Stands for the name of a step: the measured steps, over which means are taken."""


class Phase(IntEnum):
    """Phases, first match first."""

    BACKWARD = 0
    OPTIMIZER = 1
    DATA = 2
    FORWARD = 3
    OTHER = 4


def module_label(path: str) -> str:
    """Return a module's path as it is shown; that of the root is empty."""
    return path or "(root)"
