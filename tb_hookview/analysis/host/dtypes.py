"""Bytes of an element, by the type's name in a trace."""

from __future__ import annotations

import re
from functools import cache

_BYTES = {
    "complexdouble": 16,
    **dict.fromkeys(("double", "long", "longint", "complexfloat"), 8),
    **dict.fromkeys(("float", "int"), 4),
    **dict.fromkeys(("half", "bfloat16", "short"), 2),
    **dict.fromkeys(("bool", "byte", "char", "unsignedchar", "signedchar"), 1),
}
"""By the name in lower case without signs. Those of 8 bits begin with float8."""


@cache
def width(dtype: str) -> int:
    """Bytes of an element; 0 for unknown.

    Operators write C++ types (`c10::BFloat16`, `long int`), collectives torch's (`BFloat16`).
    """
    name = re.sub(r"[^a-z0-9]", "", dtype.lower().removeprefix("c10::"))
    return 1 if name.startswith("float8") else _BYTES.get(name, 0)
