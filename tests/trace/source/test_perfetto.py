"""A Perfetto trace is recognized by its content, and nothing else is."""

from __future__ import annotations

import gzip
from pathlib import Path

import grid
import pytest

from tb_hookview.errors import TraceError
from tb_hookview.export import export
from tb_hookview.loading import analyze
from tb_hookview.trace import read_trace
from tb_hookview.trace.source.perfetto import is_perfetto

PACKET = b"\x0a\x04\x08\x01\x50\x02"
"""A timestamp and a sequence id."""
LONG = b"\x0a\xac\x02\x08\x01" + b"\x50\x02" * 149
"""300 bytes, whose length takes two."""


@pytest.mark.parametrize("content", [PACKET, PACKET * 9, LONG, LONG + PACKET, LONG + PACKET[:4]])
def test_packets_are_recognized(content: bytes) -> None:
    assert is_perfetto(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\n\n\n\n\n",
        b"\nprint('hello')\nprint('world')\n" * 40,
        b"step loss\n1 2.5\n" * 40,
        PACKET[:4],
        b"\x0a\xff\xff\xff\xff\xff\xff",
        PACKET + b"{}",
    ],
)
def test_text_and_parts_of_packets_are_not(content: bytes) -> None:
    assert not is_perfetto(content)


@pytest.mark.parametrize("packed", [True, False], ids=["gzip", "plain"])
@pytest.mark.parametrize("name", ["run.pftrace", "run.pt.trace.json"])
def test_it_is_one_line_with_what_to_do_instead(tmp_path: Path, name: str, packed: bool) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(PACKET * 9) if packed else PACKET * 9)
    for asked in (path, tmp_path):
        with pytest.raises(TraceError) as caught:
            analyze(asked)
        assert "\n" not in str(caught.value)
        for part in (name, "Perfetto", ".json.gz", "ui.perfetto.dev"):
            assert part in str(caught.value)


def test_our_own_export_is_recognized(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events("main ops [aten::mm     ]"))
    exported = tmp_path / "out.pftrace"
    export(path, exported)
    with pytest.raises(TraceError, match="Perfetto"):
        read_trace(exported)


def test_a_trace_next_to_one_is_read(tmp_path: Path) -> None:
    grid.write(tmp_path / "w.1.pt.trace.json", grid.events("main ops [aten::mm     ]"))
    (tmp_path / "run.pftrace").write_bytes(PACKET)
    assert analyze(tmp_path).data.trace.path.endswith("w.1.pt.trace.json")
