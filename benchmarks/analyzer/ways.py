"""Ways to bring a trace's events into columns by native code: `python ways.py NAME FILE`.

Each reads phase, category, name, process, thread, start, duration and three arguments of every
event; as `contender.py` it prints one line of JSON. A way that gives up columns or events says so
in its name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import contender
from contender import Rows, Work

_TEXTS = ("ph", "cat", "name", "pid", "tid")
_NUMBERS = ("ts", "dur")
_ARGUMENTS = ("External id", "correlation", "Sequence number")
_BETWEEN = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name)"\s*:)')


def _inflated(path: str) -> bytes:
    from isal import igzip

    content = Path(path).read_bytes()
    text: bytes = igzip.decompress(content) if path.endswith(".gz") else content
    return text


def _lines(text: bytes) -> bytes:
    """One event a line. A quick way, right for what torch writes: it looks for no strings."""
    begin = text.index(b"[", text.index(b'"traceEvents"')) + 1
    events = text[begin : text.rindex(b"]")].replace(b"\n", b" ").strip()
    return _BETWEEN.sub(b"}\n", events)


def hookview(path: str) -> Work:
    """Our reader: all columns, times exact to the nanosecond, everything checked."""
    from tb_hookview.trace import read_trace

    contender.import_all("tb_hookview.trace")
    return lambda: Rows(read_trace(path).event_count)


def records(path: str) -> Work:
    """The typed records that our reader makes columns of, all of them at once."""
    from tb_hookview.trace.format.events import decode_events, decode_head
    from tb_hookview.trace.source.file import trace_file
    from tb_hookview.trace.source.inflate import blocks

    def read() -> Rows:
        head = decode_head(b"".join(blocks(trace_file(path))))
        return Rows(len(decode_events(bytes(head.traceEvents))[0]))

    return read


def polars(path: str) -> Work:
    """polars, whose reader wants a line for each event."""
    import polars as pl

    arguments = pl.Struct(dict.fromkeys(_ARGUMENTS, pl.Int64))
    schema: dict[str, Any] = {**dict.fromkeys(_TEXTS, pl.String)}
    schema |= {**dict.fromkeys(_NUMBERS, pl.Float64), "args": arguments}

    def work() -> Rows:
        lines = _lines(_inflated(path))
        return Rows(pl.read_ndjson(lines, schema=schema, infer_schema_length=None).height)

    return work


def pyarrow(path: str) -> Work:
    """pyarrow, which wants the same."""
    import pyarrow as pa
    from pyarrow import json

    arguments = pa.struct([(key, pa.int64()) for key in _ARGUMENTS])
    fields = [*((key, pa.string()) for key in _TEXTS), *((key, pa.float64()) for key in _NUMBERS)]
    parsed = json.ParseOptions(
        explicit_schema=pa.schema([*fields, ("args", arguments)]),
        unexpected_field_behavior="ignore",
    )

    def work() -> Rows:
        lines = pa.BufferReader(_lines(_inflated(path)))
        return Rows(json.read_json(lines, parse_options=parsed).num_rows)

    return work


def simdjson(path: str) -> Work:
    """simdjson's document, of which Python takes the columns field by field."""
    import simdjson as module

    parser = module.Parser()

    def work() -> Rows:
        document: Any = parser.parse(_inflated(path))
        events = document["traceEvents"]
        columns: list[list[Any]] = [[] for _ in range(len(_TEXTS) + len(_NUMBERS) + 3)]
        for event in events:
            arguments = event.get("args")
            row = [event.get(key) for key in _TEXTS + _NUMBERS]
            row += [arguments.get(key) if arguments else None for key in _ARGUMENTS]
            for column, value in zip(columns, row, strict=True):
                column.append(value)
        return Rows(len(columns[0]))

    return work


WAYS: contender.Contenders = {
    "hookview": (hookview, ("msgspec", "isal")),
    "records": (records, ("msgspec", "isal")),
    "polars": (polars, ("polars", "polars-runtime-32")),
    "pyarrow": (pyarrow, ("pyarrow",)),
    "simdjson": (simdjson, ("pysimdjson",)),
}

if __name__ == "__main__":
    contender.main(WAYS)
