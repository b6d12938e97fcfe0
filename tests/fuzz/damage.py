"""Changing an input, knowing what it is: an event, the text, the bytes, the packing, an address."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote

Rows = list[Any]

_KEYS = ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id", "bp", "s"]
_ARGS = [
    "correlation", "External id", "Sequence number", "Fwd thread id", "stream", "device",
    "Python id", "Python parent id", "Input Dims", "Call stack", "Total Allocated", "graph id",
    "Ev Idx", "Bytes", "queued", "est. achieved occupancy %", "Module id",
]  # fmt: skip
_PHASES = ["X", "M", "s", "f", "i", "C", "B", "E", "b", "e", "n", "", "XX", None, 5]
_CATEGORIES = [
    "cpu_op", "user_annotation", "gpu_user_annotation", "cuda_runtime", "cuda_driver", "kernel",
    "gpu_memcpy", "gpu_memset", "python_function", "ac2g", "fwdbwd", "Trace", "overhead",
    "cuda_sync", "collective_comm", "mtia_runtime", "future",
]  # fmt: skip
_NAMES = [
    "", "ProfilerStep#1", "ProfilerStep#99999999999999999999", "cudaStreamSynchronize",
    "cudaGraphLaunch", "cudaEventSynchronize", "Memcpy DtoH (Device -> Pageable)",
    "Optimizer.step#A.step", "[memory]", "autograd::engine::evaluate_function: ",
    "autograd::engine::evaluate_function: CheckpointFunctionBackward",
    "torch::autograd::AccumulateGrad", "nn.Module: A_0", "a.py(3): backward",
    "Iteration End: PyTorch Profiler", ". (A) forward ~hv1", "0 (A) before backward ~hv1",
    "0 (A) gradient w ~hv99", "\ud800", "\0", "💥" * 40, "<b>", "../../etc", "x" * 3000,
    "process_name", "thread_name", "thread_sort_index", "ncclKernel", "aten::mm",
    "DistributedDataParallel.forward", "Record Window End", "PyTorch Profiler (0)",
    "aten::_to_copy", "aten::item",
]  # fmt: skip
_NUMBERS = [
    0, 1, -1, 7, 1000, 1030.5, 1030.001, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, 10**30, 1e300,
    -1e300, 1e-300, 0.1, 1.7e15, 1.7e18, 1700000000000000.123, -0.0, 1e15, 9.2e15, 9.3e15,
    4e15, -4e15, 4.6e15,
]  # fmt: skip
_ODD = [
    None, True, False, "", "5", "1e3", "-7", "N/A", "NaN", [], {}, [[1, [2]], []],
    {"a": {"b": 1}}, "9" * 400,
]  # fmt: skip
_TOKENS = [
    b"NaN", b"Infinity", b"-Infinity", b"N/A", b"nan", b"inf", b"None", b"True", b"\\", b"\\u12",
    b"\\x41", b"\\ud800", b"\x00", b"\x1f", b"\n", b"\xff", b"\xc3", b"\xed\xa0\x80", b"}", b"{",
    b"]", b"[", b",", b",,", b":", b'"', b"'", b'{"ph"', b'"traceEvents"', b'"traceEvents": [',
    b"}\n]}", b"1e999", b"0" * 30, b"[" * 600, b"/*", b"\xef\xbb\xbf", b"-", b"1.", b".5", b"01",
    b"+1", b"\xe2\x80\xa8", b'"baseTimeNanoseconds": 17, ', b'"distributedInfo": 5, ',
]  # fmt: skip
_VALUES = [
    "", "0", "-1", "1", "5", "1e309", "nan", "inf", "-inf", "1e308", "-1e308", "0x10", "1_000",
    "٣", "9" * 40, "9" * 5000, ".", "..", "/", "../..", "host_1", "ProfilerStep#1", "1", "%",
    "\0", "\ud800", "💥", "<b>", "a" * 3000, "0,1", "0,,1", ",", "0," * 500, "16384", "16385",
    "1.5", " 1", "1 ", "+1", "1e3", "-0.0", "aten::mm", "host_us", "backward_device_us",
    "1700000000123", "self_device_us", "True", "null", "1e-320", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "18446744073709551616",
]  # fmt: skip
_QUERY = [
    "run", "worker", "trace", "step", "start", "end", "width", "lanes", "id", "q", "path",
    "measure", "other_run", "other_worker", "other_trace", "other_step", "x",
]  # fmt: skip


def damage_trace(data: bytes, random: Random) -> bytes:
    """Return a trace with one or a few things wrong that were not before.

    Args:
        data: the file as it is, packed or not, whatever is wrong with it already.
        random: decides what.
    """
    text = unpacked(data)
    if random.random() < 0.8:
        try:
            root = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            for _ in range(random.choice([1, 1, 1, 2, 4, 8])):
                _damage_rows(_rows(root), random)
            if isinstance(root, dict) and random.random() < 0.1:
                key = random.choice([*root, "traceEvents", "hookview", "displayTimeUnit"])
                root[key] = _value(random)
            text = _encoded(root, random)
    if random.random() < 0.35:
        text = random.choice(_OF_TEXT)(text, random)
    return random.choice(_OF_FILE)(text, random) if random.random() < 0.15 else text


def damage_address(data: bytes, random: Random) -> bytes:
    """Return an address with another query, or another path now and then."""
    path, _, query = data.decode("utf-8", "replace").partition("?")
    pairs = [pair.partition("=")[::2] for pair in query.split("&")]
    for _ in range(random.choice([1, 1, 2, 3])):
        kind = random.randrange(5)
        if kind == 0 and pairs:
            pairs.pop(random.randrange(len(pairs)))
        elif kind == 1:
            pairs.append((random.choice(_QUERY), _quoted(random.choice(_VALUES))))
        elif kind == 2 and pairs:
            pairs.append(random.choice(pairs))
        elif pairs:
            place = random.randrange(len(pairs))
            pairs[place] = (pairs[place][0], _quoted(random.choice(_VALUES)))
    if random.random() < 0.05:
        path += random.choice(["/", "x", "/..", "//", "%00", ".json"])
    return f"{path}?{'&'.join('='.join(pair) for pair in pairs)}".encode("utf-8", "replace")


def _quoted(value: str) -> str:
    return quote(value.encode("utf-8", "surrogatepass"))


def unpacked(data: bytes) -> bytes:
    """Return what gzip packed, as far as it can be had."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return zlib.decompressobj(31).decompress(data, 1 << 20)
    except zlib.error:
        return data


def _rows(root: Any) -> Rows:
    rows = root.get("traceEvents") if isinstance(root, dict) else root
    return rows if isinstance(rows, list) else []


def _value(random: Random) -> Any:
    return random.choice([random.choice(_NUMBERS), random.choice(_ODD), random.choice(_NAMES)])


def _damage_rows(rows: Rows, random: Random) -> None:
    kinds: list[Callable[[Rows, dict[str, Any], Random], None]] = [
        _set_field, _set_field, _set_argument, _set_argument, _drop_field, _move, _move, _stretch,
        _repeat, _remove, _swap, _shift_clock, _borrow, _borrow, _nest,
    ]  # fmt: skip
    events = [row for row in rows if isinstance(row, dict)]
    if events:
        random.choice(kinds)(rows, random.choice(events), random)
    else:
        rows.append(
            {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
        )


def _set_field(_rows: Rows, row: dict[str, Any], random: Random) -> None:
    key = random.choice(_KEYS)
    known = {"ph": _PHASES, "cat": _CATEGORIES, "name": _NAMES, "ts": _NUMBERS, "dur": _NUMBERS}
    row[key] = random.choice(known.get(key, _NUMBERS)) if random.random() < 0.7 else _value(random)


def _set_argument(_rows: Rows, row: dict[str, Any], random: Random) -> None:
    args = row.get("args")
    if not isinstance(args, dict):
        args = row["args"] = {}
    small = random.randrange(-2, 14)
    args[random.choice([*_ARGS, *args])] = small if random.random() < 0.6 else _value(random)


def _drop_field(_rows: Rows, row: dict[str, Any], random: Random) -> None:
    if row:
        del row[random.choice(list(row))]


def _move(_rows: Rows, row: dict[str, Any], random: Random) -> None:
    """Out of order, crossing by rounding, before the beginning."""
    for key in random.choice([["ts"], ["dur"], ["ts", "dur"]]):
        if isinstance(row.get(key), int | float):
            row[key] += random.choice([-1000, -50, -5, -1, -0.001, 0.001, 0.5, 1, 5, 50, 1e6])


def _stretch(_rows: Rows, row: dict[str, Any], random: Random) -> None:
    if isinstance(row.get("dur"), int | float):
        row["dur"] *= random.choice([0, -1, 0.5, 3, 1e3, 1e12])


def _repeat(rows: Rows, row: dict[str, Any], random: Random) -> None:
    for _ in range(random.choice([1, 2, 20])):
        rows.insert(random.randrange(len(rows) + 1), dict(row))


def _remove(rows: Rows, row: dict[str, Any], random: Random) -> None:
    rows.remove(row)


def _swap(rows: Rows, row: dict[str, Any], random: Random) -> None:
    if random.random() < 0.3:
        random.shuffle(rows)
    else:
        one, other = random.randrange(len(rows)), random.randrange(len(rows))
        rows[one], rows[other] = rows[other], rows[one]


def _shift_clock(rows: Rows, row: dict[str, Any], random: Random) -> None:
    """From some event on, as where the clock was set or another window begins."""
    by = random.choice([-1e6, -40, 40, 1e6, 1e12, 1.7e15])
    for later in rows[random.randrange(len(rows)) :]:
        if isinstance(later, dict) and isinstance(later.get("ts"), int | float):
            later["ts"] += by


def _borrow(rows: Rows, row: dict[str, Any], random: Random) -> None:
    """Take a field from another event: its thread, its time, its correlation."""
    other = random.choice(rows)
    if not isinstance(other, dict):
        return
    mine, theirs = row.get("args"), other.get("args")
    if isinstance(mine, dict) and isinstance(theirs, dict) and theirs and random.random() < 0.5:
        key = random.choice(list(theirs))
        mine[key] = theirs[key]
    else:
        key = random.choice([key for key in _KEYS if key in other] or ["ts"])
        row[key] = other.get(key)


def _nest(rows: Rows, row: dict[str, Any], random: Random) -> None:
    """A child of the same name inside of an event, as deep as it goes."""
    start, length = row.get("ts"), row.get("dur")
    if isinstance(start, int | float) and isinstance(length, int | float):
        for depth in range(1, random.choice([2, 30, 300])):
            rows.append({**row, "ts": start + depth * length / 1000, "dur": length / (1 + depth)})


def _encoded(root: Any, random: Random) -> bytes:
    indent = random.choice([None, None, 1, 2])
    text = json.dumps(root, indent=indent, ensure_ascii=random.random() < 0.5)
    return text.encode("utf-8", "surrogatepass")


def _insert(text: bytes, random: Random) -> bytes:
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(_TOKENS) + text[place:]


def _overwrite(text: bytes, random: Random) -> bytes:
    place = random.randrange(len(text) + 1)
    token = random.choice(_TOKENS)
    return text[:place] + token + text[place + len(token) :]


def _for_a_number(text: bytes, random: Random) -> bytes:
    """A token in the place of a value."""
    place = text.find(b": ", random.randrange(len(text) + 1))
    end = text.find(b",", place)
    if place < 0 or end < 0:
        return text
    return text[: place + 2] + random.choice(_TOKENS) + text[end:]


def _cut(text: bytes, random: Random) -> bytes:
    return text[: random.randrange(len(text) + 1)]


def _cut_out(text: bytes, random: Random) -> bytes:
    place = random.randrange(len(text) + 1)
    return text[:place] + text[place + random.choice([1, 2, 10, 100, 1000]) :]


def _flip(text: bytes, random: Random) -> bytes:
    changed = bytearray(text)
    for _ in range(random.choice([1, 1, 3])):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _twice(text: bytes, random: Random) -> bytes:
    return text + random.choice([b"", b"\n", b",", b"\0" * 10]) + text


def _as_utf16(text: bytes, random: Random) -> bytes:
    decoded = text.decode("utf-8", "replace")
    return decoded.encode(
        random.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
    )


def _packed(text: bytes, random: Random) -> bytes:
    return gzip.compress(text, 1, mtime=0)


def _packed_badly(text: bytes, random: Random) -> bytes:
    damage = random.choice([_cut, _flip, _flip, _insert, _twice])
    return damage(_packed(text, random), random)


def _packed_in_parts(text: bytes, random: Random) -> bytes:
    place = random.randrange(len(text) + 1)
    tail = random.choice([b"", b"\0" * 9, b"rest", b"\x1f\x8b", b"\x1f\x8b\x08"])
    return _packed(text[:place], random) + _packed(text[place:], random) + tail


def _zipped(text: bytes, random: Random) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in random.choice(
            [["t.json"], ["a.pt.trace.json", "b.txt"], ["a.json", "b.json"], []]
        ):
            archive.writestr(zipfile.ZipInfo(name), text)
    packed = made.getvalue()
    return _flip(packed, random) if random.random() < 0.3 else packed


_OF_TEXT = [
    _insert,
    _insert,
    _overwrite,
    _for_a_number,
    _for_a_number,
    _cut,
    _cut_out,
    _flip,
    _twice,
]
_OF_FILE = [_packed, _packed_badly, _packed_in_parts, _zipped, _as_utf16]
