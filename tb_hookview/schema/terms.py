"""Units of fields; kinds of device work and phases, by the names that reports use."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from msgspec import Meta

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


PHASES = tuple(phase.name.lower() for phase in Phase)
SHOWN_PHASES = ("forward", "backward", "optimizer", "data", "other")
"""In the order of a step."""


def module_label(path: str) -> str:
    """Return a module's path as it is shown; that of the root is empty."""
    return path or "(root)"


# Units of numbers, as types: they are in the OpenAPI description as `x-unit`.


UNIT = "x-unit"
"""Key of a number's unit in its JSON Schema."""

Us = Annotated[float, Meta(extra_json_schema={UNIT: "us"})]
"""Microseconds."""
Seconds = Annotated[float, Meta(extra_json_schema={UNIT: "s"})]
Bytes = Annotated[int, Meta(extra_json_schema={UNIT: "bytes"})]
Count = Annotated[int, Meta(extra_json_schema={UNIT: "count"})]
"""A number of things."""
MeanCount = Annotated[float, Meta(extra_json_schema={UNIT: "count"})]
"""A mean of counts."""
Share = Annotated[float, Meta(extra_json_schema={UNIT: "fraction"})]
"""A part of a whole, 0 to 1."""
Percent = Annotated[float, Meta(extra_json_schema={UNIT: "percent"})]
Times = Annotated[float, Meta(extra_json_schema={UNIT: "times"})]
"""One quantity divided by another of its kind."""
Flop = Annotated[float, Meta(extra_json_schema={UNIT: "flop"})]
"""Floating-point operations; a multiplication and an addition are two."""
TflopPerS = Annotated[float, Meta(extra_json_schema={UNIT: "TFLOP/s"})]
GbPerS = Annotated[float, Meta(extra_json_schema={UNIT: "GB/s"})]
FlopPerByte = Annotated[float, Meta(extra_json_schema={UNIT: "flop/byte"})]

TimeByKind = Annotated[dict[str, Us], Meta(extra={"keys": KINDS})]
"""Microseconds by kind of device work; kinds without any are left out."""
TimeByPhase = Annotated[dict[str, Us], Meta(extra={"keys": list(PHASES)})]
"""Microseconds by phase; phases without any are left out."""
