"""Columns out of the cache are those that were put in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.same_trace import assert_same

from tb_hookview.cache import Cache, Source
from tb_hookview.cache import source_of as cached_source
from tb_hookview.cache.entries import opened
from tb_hookview.loading import columns
from tb_hookview.trace import LocalFile, Trace, read_trace

ODD: dict[str, Any] = {
    "no events": [],
    "names of every kind": [
        {"ph": "X", "ts": number, "dur": 1, "pid": 1, "tid": "t", "name": name, "cat": "cpu_op"}
        for number, name in enumerate(
            ["", "a\0b", "<b>", "\ud83d\ude00", "é" * 300, "../../x", "{}"]
        )
    ],
    "memory and collectives": [
        {"ph": "i", "s": "t", "ts": 3, "pid": 1, "tid": 1, "name": "[memory]"}
        | {"args": {"Device Type": 1, "Device Id": 0, "Bytes": 512, "Total Allocated": 1024}},
        {"ph": "X", "ts": 5, "dur": 2, "pid": 1, "tid": 1, "name": "record_param_comms"}
        | {"cat": "cpu_op", "args": {"Collective name": "allreduce", "Group size": 8}},
    ],
}


def source_of(path: Path) -> Source:
    source = cached_source(LocalFile(path), opened())
    assert source is not None
    return source


def there_and_back(path: Path) -> tuple[Trace, Trace]:
    trace, source = read_trace(path), source_of(path)
    assert columns.store(source, trace)
    again = columns.load(source, LocalFile(path))
    assert again is not None
    return trace, again


def arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif type(value).__module__ == Trace.__module__ and hasattr(type(value), "__annotations__"):
        for name in getattr(type(value), "__struct_fields__", type(value).__annotations__):
            yield from arrays(getattr(value, name))


@pytest.mark.parametrize("name", ODD)
def test_an_odd_trace_is_the_same(cache: Cache, tmp_path: Path, name: str) -> None:
    path = tmp_path / "odd.json"
    head = {"deviceProperties": [{"id": 0, "name": "A", "computeMajor": 9, "computeMinor": 0}]}
    path.write_text(json.dumps({**head, "traceEvents": ODD[name]}))
    assert_same(*there_and_back(path))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b"<b>", b"\\ud800"),
        lambda text: text.replace(b"<b>", b"\xff\xfe"),
        lambda text: text.replace(b'"dur": 1', b'"dur": 1e400', 2),
    ],
    ids=["cut", "half a pair", "no text", "too large"],
)
def test_a_damaged_trace_is_the_same(
    cache: Cache, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """What was mended and what was left out is told again too."""
    path = tmp_path / "odd.json"
    whole = json.dumps({"traceEvents": ODD["names of every kind"]}).encode()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    assert_same(*there_and_back(path))


def test_nothing_can_write_into_what_was_kept(cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"traceEvents": ODD["names of every kind"]}))
    _, again = there_and_back(path)
    found = list(arrays(again))
    assert len(found) > 20
    assert not any(array.flags.writeable for array in found)
    assert all(array.ctypes.data % 8 == 0 for array in found)


def test_it_is_the_trace_of_the_path_asked_for(cache: Cache, tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    for path in (one, other):
        path.write_text(json.dumps({"traceEvents": ODD["names of every kind"]}))
    columns.store(source_of(one), read_trace(one))
    again = columns.load(source_of(other), LocalFile(other))
    assert again is not None
    assert again.path == str(other)


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 8, bytes(8), b"\2\0\0\0\0\0\0\0{}", b"[" * 4096],
    ids=["empty", "endless", "no head", "another head", "deep"],
)
def test_content_that_is_no_trace_is_none_and_is_dropped(
    cache: Cache, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"traceEvents": []}))
    source = source_of(path)
    source.put(columns.KIND, [content])
    assert columns.load(source, LocalFile(path)) is None
    assert cache.usage().entries == 0
