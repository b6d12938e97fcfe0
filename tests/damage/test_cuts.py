"""Files that end anywhere: what they hold is read, and never less of a longer one."""

from __future__ import annotations

import gzip
import io
from bisect import bisect_right
from pathlib import Path

import pytest
import shared_traces
from damage import real

from tb_hookview.errors import TraceError
from tb_hookview.trace import read_trace

STEP = 199
"""Bytes between two cuts."""
REPORTED = 60
"""One of this many cuts is reported on, too."""
MOST = 300
"""Events of a text that is cut."""


def read(path: Path) -> int | None:
    """Return how many events a file holds; None where reading raises."""
    try:
        return read_trace(path).event_count
    except TraceError:
        return None


@pytest.mark.parametrize("name", ["hta_a100_alexnet_sync_events", "hta_a100_overlaid"])
def test_a_text_cut_every_few_bytes(tmp_path: Path, name: str) -> None:
    trace = real.real(name).thinned(MOST)
    text, ends = trace.text(), trace.ends()
    path, whole = tmp_path / "cut.json", tmp_path / "whole.json"
    for number, cut in enumerate(range(STEP, len(text), STEP)):
        path.write_bytes(text[:cut])
        held = bisect_right(ends, cut)
        assert read(path) == (held or None), f"cut at byte {cut}"
        if held and number % REPORTED == 0:
            whole.write_bytes(trace.first(held).text())
            (found, warned), (wanted, before) = real.report(path), real.report(whole)
            assert found == wanted, f"cut at byte {cut}"
            assert warned == {**before, "cut-off": 1}


def test_gzip_cut_every_few_bytes(tmp_path: Path) -> None:
    packed = shared_traces.shared_trace("hta_a100_alexnet_sync_events").read_bytes()
    ends = real.real("hta_a100_alexnet_sync_events").ends()
    path, most = tmp_path / "cut.json.gz", 0
    for cut in range(STEP, len(packed), 2 * STEP):
        path.write_bytes(packed[:cut])
        held = bisect_right(ends, len(inflated(packed[:cut])))
        found = read(path) or 0
        assert most <= found <= held, f"cut at byte {cut}"
        assert found >= held - 1, "the inflater may hold back a byte, and no more"
        most = found
    assert most > 0.9 * len(ends)


def inflated(packed: bytes) -> bytes:
    """What the standard library makes of gzip data that is cut off."""
    with gzip.open(io.BytesIO(packed)) as stream:
        text = b""
        try:
            while part := stream.read1():
                text += part
        except EOFError:
            pass
        return text


@pytest.mark.parametrize("name", ["hta_mi250_minitoy_training", "hta_rank_without_gpu"])
def test_a_text_cut_amid_what_follows_the_events(tmp_path: Path, name: str) -> None:
    trace = real.real(name).thinned(MOST)
    text, path, whole = trace.text(), tmp_path / "cut.json", tmp_path / "whole.json"
    whole.write_bytes(text)
    wanted, before = real.report(whole)
    for cut in range(trace.ends()[-1], len(text.rstrip())):
        path.write_bytes(text[:cut])
        assert read_trace(path).event_count == len(trace.events)
    found, warned = real.report(path)
    assert found == wanted
    assert warned == {**before, "cut-off": 1}
