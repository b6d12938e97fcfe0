from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview.trace.columns.growing import (
    EARLIEST_NS,
    LATEST_NS,
    are_starts,
    doubles_are_exact,
    from_doubles,
    from_texts,
)

# baseTimeNanoseconds keeps timestamps below a quarter of a year
relative_ns = st.integers(0, 7_889_238 * 10**9)
absolute_ns = st.integers(1_600_000_000 * 10**9, 1_900_000_000 * 10**9)


def as_text(nanoseconds: int) -> str:
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


@given(st.lists(relative_ns, min_size=1))
def test_relative_times_survive_a_double(times: list[int]) -> None:
    read = np.array([float(as_text(t)) for t in times])
    assert doubles_are_exact(read)
    assert from_doubles(read).tolist() == times


@given(st.lists(absolute_ns, min_size=1))
def test_absolute_times_survive_as_text(times: list[int]) -> None:
    assert from_texts([as_text(t).encode() for t in times]).tolist() == times


def test_absolute_times_with_decimals_do_not_survive_a_double() -> None:
    nanoseconds = 1_700_000_000_123_456_789
    read = np.array([float(as_text(nanoseconds))])
    assert not doubles_are_exact(read)
    assert from_doubles(read)[0] != nanoseconds


@given(st.lists(absolute_ns.map(lambda ns: ns // 1000 * 1000), min_size=1))
def test_absolute_whole_microseconds_survive_a_double(times: list[int]) -> None:
    read = np.array([t / 1000 for t in times])
    assert from_doubles(read).tolist() == times


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        (b"12", 12_000),
        (b"12.5", 12_500),
        (b"12.25", 12_250),
        (b"0.001", 1),
        (b'"1700000000123456.789"', 1_700_000_000_123_456_789),
        (b"1.5e3", 1_500_000),
        (b"-3.25", -3_250),
        (b"12.3456", 12_346),
        (b"1.0005", 1_001),
        (b"1.00049", 1_000),
        (b"0.5e-3", 1),
        (b"-0.5e-3", -1),
        (b"1.4e-3", 1),
        (b"4611686018427386", 4_611_686_018_427_386_000),
        (b"4611686018427387", 0),
        (b"1e300", 0),
        (b"1" * 40, 0),
        (b"9999999999999999", 0),
        (b"4700000000000000", 0),
        (b"4700000000000000.5", 0),
        (b"5100000000000000", 0),
        (b"11111111111111111", 0),
        (b"10000000000000000", 0),
        (b"10000000000000000.5", 0),
        (b"3999999999999999.999", 3_999_999_999_999_999_999),
        (b"4000000000000000.25", 4_000_000_000_000_000_250),
        (b"1" * 31 + b"e-20", 11_111_111_111_111),
        (b"\xff\xfe", 0),
        (b"X12X", 0),
        (b" 12 ", 12_000),
        (b"", 0),
        (b"null", 0),
        (b'"N/A"', 0),
    ],
)
def test_spellings_of_a_time(text: bytes, nanoseconds: int) -> None:
    assert from_texts([text]).tolist() == [nanoseconds]


@given(st.lists(st.decimals("0", "9e12", places=3), min_size=1, max_size=20))
def test_texts_agree_with_decimal(values: list[Decimal]) -> None:
    texts = [str(value).encode() for value in values]
    assert from_texts(texts).tolist() == [int(value * 1000) for value in values]


def test_texts_of_one_call_are_read_apart() -> None:
    texts = [b"4700000000000000", b"12", b"1.5e3", b"10000000000000000", b"", b'"7.25"', b"1"]
    assert from_texts(texts).tolist() == [0, 12_000, 1_500_000, 0, 0, 7_250, 1_000]


def test_no_texts_are_no_times() -> None:
    none = from_texts([])
    assert none.shape == (0,)
    assert none.dtype == np.int64


def test_the_last_representable_time_is_the_last_below_2_to_the_62_ns() -> None:
    last = np.nextafter(LATEST_NS / 1000, 0)
    assert from_doubles(np.array([last, -last, LATEST_NS / 1000])).tolist() == [
        int(Decimal(last) * 1000),
        -int(Decimal(last) * 1000),
        0,
    ]


def test_events_start_between_the_earliest_and_the_latest_time() -> None:
    earliest, latest = EARLIEST_NS / 1000, LATEST_NS / 1000
    inside = [np.nextafter(earliest, 0), -1.0, 0.0, 1.7e15, np.nextafter(latest, 0)]
    outside = [earliest, latest, 2 * earliest, 2 * latest, float("nan"), float("inf")]
    assert are_starts(np.array(inside)).all()
    assert not are_starts(np.array(outside)).any()


def test_what_is_no_number_becomes_zero() -> None:
    read = np.array([float("nan"), float("inf"), 1e300, -1e17, 2.5])
    assert from_doubles(read).tolist() == [0, 0, 0, 0, 2500]
