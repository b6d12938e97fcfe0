"""Numbers as words."""

from __future__ import annotations

import pytest

from tb_hookview.rules.engine.text import format_count, format_us


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0.0, "0 us"),
        (1.234, "1.23 us"),
        (9.994, "9.99 us"),
        (9.995, "10.0 us"),
        (99.94, "99.9 us"),
        (99.95, "100 us"),
        (999.5, "1.00 ms"),
        (9.996, "10.0 us"),
        (99.96, "100 us"),
        (999.4, "999 us"),
        (999.6, "1.00 ms"),
        (167288.1, "167 ms"),
        (999_499, "999 ms"),
        (999_500, "1.00 s"),
        (43_210_000, "43.2 s"),
        (1_234_500_000, "1234 s"),
    ],
)
def test_the_unit_that_fits_and_three_digits(us: float, text: str) -> None:
    assert format_us(us) == text


def test_counts() -> None:
    assert format_count(1, "step") == "1 step"
    assert format_count(0, "copy", "copies") == "0 copies"
    assert format_count(2, "step") == "2 steps"
    assert format_count(1, "copy", "copies") == "1 copy"
    assert format_count(1.4, "step") == "1 step"
    assert format_count(1.6, "step") == "2 steps"
