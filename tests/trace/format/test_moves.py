"""Names of copies and sets: the same from Kineto's name and from the other exporter's arguments."""

from __future__ import annotations

from typing import Any

import pytest

from tb_hookview.trace.format.events import move_name


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("HtoD", "pageable", "device", None), "Memcpy HtoD (Pageable -> Device)"),
        (("DtoH", "device", "pinned", None), "Memcpy DtoH (Device -> Pinned)"),
        (("PtoP", "device", "device", None), "Memcpy PtoP (Device -> Device)"),
        (("DtoD", "managed_static", "device_static", None), None),
        ((9, "pinned", "pageable", None), "Memcpy HtoH (Pinned -> Pageable)"),
        ((77, 99, [], None), "Memcpy Unknown (Unknown -> Unknown)"),
    ],
)
def test_a_copy_is_named_by_its_arguments(given: Any, expected: str | None) -> None:
    expected = expected or "Memcpy DtoD (Managed Static -> Device Static)"
    assert move_name("Memcpy", *given) == expected


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Memcpy HtoD (Pinned -> Device)", ("DtoH", "device", "pageable", None)),
        ("Memcpy", ("HtoD", None, "device", None)),
        ("Memset", ("HtoD", "pinned", "device", None)),
        ("gemm", ("HtoD", "pinned", "device", 3)),
    ],
)
def test_a_name_stays_where_it_says_so_itself_or_an_argument_lacks(name: str, given: Any) -> None:
    assert move_name(name, *given) == name


def test_a_set_is_named_by_its_memory() -> None:
    assert move_name("Memset", None, None, None, 3) == "Memset (Device)"
    assert move_name("Memset", None, None, None, 64) == "Memset (Unknown)"
