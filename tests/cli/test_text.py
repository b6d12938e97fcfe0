"""Numbers and names as text."""

from __future__ import annotations

import pytest

from tb_hookview.cli.text import change, duration, printable, share


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (0.004, "0.00 us"),
        (0.5, "0.50 us"),
        (9.994, "9.99 us"),
        (9.996, "10.0 us"),
        (99.96, "100 us"),
        (999.4, "999 us"),
        (999.6, "1.00 ms"),
        (12_345.0, "12.3 ms"),
        (999_600.0, "1.00 s"),
        (61e6, "61.0 s"),
        (-1500.0, "-1.50 ms"),
    ],
)
def test_durations_have_three_digits_and_a_unit(us: float | None, text: str) -> None:
    assert duration(us) == text


def test_changes_have_a_sign() -> None:
    assert [change(us) for us in (1500.0, -1500.0, 0.0, None)] == ["+1.50 ms", "-1.50 ms", "0", "-"]


def test_a_share_of_nothing_is_no_number() -> None:
    assert share(1.0, 4.0) == "25.0 %"
    assert share(0.0, 4.0) == "0.0 %"
    assert share(1.0, 0.0) == share(None, 4.0) == share(1.0, None) == "-"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("blocks.0.attn", "blocks.0.attn"),
        ("Größe 数", "Größe 数"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\udcff", r"\udcff"),
        ("right\u202eleft", r"right\u202eleft"),
    ],
)
def test_a_terminal_is_given_nothing_to_act_upon(name: str, text: str) -> None:
    assert printable(name) == text
