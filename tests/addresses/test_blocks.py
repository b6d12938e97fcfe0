"""Reading in blocks against a file in memory."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview.cache import Cache
from tb_hookview.trace.source.remote import AHEAD, BlockReader, FileBlocks

CONTENT = bytes(range(256)) * 5
STEPS = st.lists(
    st.tuples(st.sampled_from(["read", "set", "from here", "from the end"]), st.integers(0, 400)),
    max_size=20,
)


class Store:
    """Counts what is fetched, and fails from a place on."""

    def __init__(self, content: bytes = CONTENT, fails_from: int | None = None) -> None:
        self.content, self.fails_from = content, fails_from
        self.fetched: Counter[int] = Counter()

    def fetch(self, begin: int, end: int) -> bytes:
        if self.fails_from is not None and begin >= self.fails_from:
            raise ConnectionError("broke off")
        self.fetched[begin] += 1
        return self.content[begin:end]

    def opened(self, length: int, cache: Cache | None = None) -> io.BufferedReader:
        blocks = FileBlocks(self.fetch, len(self.content), cache, ("a file",))
        return io.BufferedReader(BlockReader(blocks, length), 16)


@given(steps=STEPS, length=st.integers(1, 2000))
def test_any_reading_gives_what_a_file_gives(steps: list[tuple[str, int]], length: int) -> None:
    with Store().opened(length) as read, io.BytesIO(CONTENT) as expected:
        for what, number in steps:
            if what == "read":
                assert read.read(number) == expected.read(number)
            elif what == "set":
                assert read.seek(number) == expected.seek(number)
            elif what == "from the end":
                assert read.seek(-number, io.SEEK_END) == expected.seek(-number, io.SEEK_END)
            else:
                read.seek(number, io.SEEK_CUR)
                expected.seek(number, io.SEEK_CUR)
            assert read.tell() == expected.tell()


def test_each_block_is_fetched_once_and_then_cached(cache: Cache) -> None:
    store = Store()
    for _ in range(2):
        with store.opened(100, cache) as file:
            assert file.read() == CONTENT
    assert set(store.fetched.values()) == {1}
    assert len(store.fetched) == 13


def test_a_look_at_both_ends_fetches_no_more_than_these() -> None:
    store = Store()
    with store.opened(100) as file:
        assert file.read(2) == CONTENT[:2]
        file.seek(-4, io.SEEK_END)
        assert file.read(4) == CONTENT[-4:]
    assert sorted(store.fetched) == [0, 1200]


def test_reading_in_order_fetches_a_few_blocks_ahead() -> None:
    store = Store()
    with store.opened(100) as file:
        file.read(150)
        for future in list(file.raw._ahead.values()):  # type: ignore[attr-defined]
            future.result()
        assert sorted(store.fetched) == [number * 100 for number in range(AHEAD + 2)]


def test_what_was_read_before_it_broke_off_is_kept(cache: Cache, tmp_path: Path) -> None:
    broken = Store(fails_from=500)
    with broken.opened(100, cache) as file, pytest.raises(ConnectionError):
        file.read()
    assert sorted(broken.fetched) == [0, 100, 200, 300, 400]
    whole = Store()
    with whole.opened(100, cache) as file:
        assert file.read() == CONTENT
    assert min(whole.fetched) == 500
