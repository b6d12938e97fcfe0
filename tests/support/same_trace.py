"""Whether two traces, or what was made of them, hold the same."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same(one: Any, other: Any, place: str = "trace") -> None:
    """Hold two values, and all that they are made of, to be of equal types and values."""
    assert type(one) is type(other), f"{place}: {type(one)} and {type(other)}"
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, place, strict=True)
    elif names := getattr(type(one), "__struct_fields__", getattr(type(one), "_fields", ())):
        for name in names:
            assert_same(getattr(one, name), getattr(other, name), f"{place}.{name}")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), f"{place}: {len(one)} entries and {len(other)}"
        for number, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{place}[{number}]")
    elif isinstance(one, dict):
        assert list(one) == list(other), f"{place}: other keys"
        for key in one:
            assert_same(one[key], other[key], f"{place}[{key!r}]")
    else:
        both_nan = one != one and other != other
        assert one == other or both_nan, f"{place}: {one!r:.200} and {other!r:.200}"
