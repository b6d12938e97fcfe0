"""Whole files in odd wrappings: gzip in pieces, zip, bytes before and after."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from damage import real
from support.same_trace import assert_same

from tb_hookview.errors import TraceError
from tb_hookview.trace import read_trace


def zipped(text: bytes, name: str = "run.pt.trace.json", **more: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
        for other, content in more.items():
            archive.writestr(other.replace("_", "."), content)
    return target.getvalue()


def in_pieces(text: bytes) -> bytes:
    size = max(1, len(text) // 7)
    return b"".join(gzip.compress(text[at : at + size]) for at in range(0, len(text), size))


WRAPPINGS: dict[str, tuple[Callable[[bytes], bytes], dict[str, int]]] = {
    "byte order mark": (lambda text: b"\xef\xbb\xbf" + text, {}),
    "blanks before and after": (lambda text: b"\r\n \t" + text + b"\n\n", {}),
    "zeros after": (lambda text: text + bytes(5000), {"text-behind": 1}),
    "several gzips": (in_pieces, {}),
    "an empty gzip first": (lambda text: gzip.compress(b"") + gzip.compress(text), {}),
    "gzip with zeros after": (lambda text: gzip.compress(text) + bytes(300_000), {}),
    "gzip with bytes after": (lambda text: gzip.compress(text) + b"trailer", {"bytes-behind": 1}),
    "gzip without its checksum": (lambda text: gzip.compress(text)[:-8], {"packing-cut": 1}),
    "zip": (zipped, {}),
    "zip among other files": (lambda text: zipped(text, readme_txt=b"x", notes_md=b"y"), {}),
    "gzip in a zip": (lambda text: zipped(gzip.compress(text), "run.json.gz"), {}),
    "another trace after": (lambda text: text + b"\n" + text, {"text-behind": 1}),
    "another packed trace after": (lambda text: gzip.compress(text) * 2, {"text-behind": 1}),
}  # fmt: skip


@cache
def text_of(name: str) -> bytes:
    """Of one trace all, which is several blocks of text; of others so many events."""
    trace = real.real(name)
    return (trace if name == "tracelens_h100_bert_small" else trace.thinned(300)).text()


@pytest.fixture
def files(tmp_path: Path, name: str, wrapping: str) -> tuple[Path, Path]:
    """A wrapped file, and the same as plain text."""
    plain, wrapped = tmp_path / "plain.json", tmp_path / "wrapped.json"
    plain.write_bytes(text_of(name))
    wrapped.write_bytes(WRAPPINGS[wrapping][0](text_of(name)))
    return wrapped, plain


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("name", real.NAMES)
def test_the_columns_are_those_of_the_plain_text(files: tuple[Path, Path], wrapping: str) -> None:
    (found, lost), (wanted, before) = map(real.columns, files)
    assert_same(found, wanted)
    assert lost == {**before, **WRAPPINGS[wrapping][1]}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("name", ["hta_mi250_minitoy_training"])
def test_the_report_is_that_of_the_plain_text(files: tuple[Path, Path], wrapping: str) -> None:
    (found, warned), (wanted, before) = map(real.report, files)
    assert found == wanted
    assert warned == {**before, **WRAPPINGS[wrapping][1]}


EVENT = b'{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'
EVENTS = b'{"traceEvents": [%b]}' % EVENT
LISTED = b"[" + b",\n".join([EVENT] * 9) + b"]"


def flipped(packed: bytes, place: int) -> bytes:
    return packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (flipped(gzip.compress(EVENTS * 99), -6), "gzip data is damaged"),
        (flipped(gzip.compress(EVENTS * 99), 40), "gzip data is damaged"),
        (gzip.compress(EVENTS, mtime=0)[:10], "gzip data is truncated"),
        (zipped(EVENTS)[:-30], "zip file cannot be read"),
        (flipped(zipped(EVENTS), 60), "zip file is damaged"),
        (zipped(EVENTS, b_json=EVENTS), "2 traces ('run.pt.trace.json', 'b.json')"),
        (zipped(b"x", "a.txt", b_txt=b"y"), "without a trace"),
        (bytes(1000), "not JSON"),
        (b"", "empty"),
        (EVENTS.decode().encode("utf-16"), "UTF-16"),
        (EVENTS.decode().encode("utf-16-le"), "UTF-16"),
        (EVENTS.decode().encode("utf-32-be"), "UTF-32"),
        (gzip.compress(b"\xfe\xff" + EVENTS.decode().encode("utf-16-be")), "UTF-16"),
    ],
)
def test_what_cannot_be_trusted_is_refused_in_one_line(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", range(10, len(gzip.compress(LISTED))))
def test_a_flipped_bit_in_gzip_is_never_read_as_a_number(tmp_path: Path, place: int) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(flipped(gzip.compress(LISTED), place))
    try:
        trace = read_trace(path)
    except TraceError:
        return
    assert set(trace.events.duration.tolist()) <= {2000}
