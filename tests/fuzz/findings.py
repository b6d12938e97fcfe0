"""What was found: of each kind of fault the smallest input so far, and how to make it smaller."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz.damage import unpacked

PACKAGES = ("tb_hookview", "support", "fuzz")


def kind_of(fault: BaseException) -> str:
    """Return a key of a fault, fit for a file's name: its type and its place."""
    frames = traceback.extract_tb(fault.__traceback__)
    ours = [frame for frame in frames if set(Path(frame.filename).parts) & set(PACKAGES)]
    place = (ours or frames)[-1]
    return f"{type(fault).__name__}-{Path(place.filename).stem}-{place.name}-{place.lineno}"


def fault_of(feed: Callable[[bytes], None], data: bytes) -> BaseException | None:
    """Feed a target; return what it raised."""
    try:
        feed(data)
    except Exception as fault:  # noqa: BLE001 - whatever it is, it is what is looked for
        return fault
    return None


class Findings:
    """A folder with the smallest input of every kind of fault."""

    def __init__(self, folder: Path, target: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._target = target

    def keep(self, fault: BaseException, data: bytes) -> Path | None:
        """Write an input down if its fault is new or it is smaller; return where, else None."""
        path = self._folder / f"{self._target}-{kind_of(fault)}"
        if path.exists() and path.stat().st_size <= len(data):
            return None
        path.write_bytes(data)
        lines = traceback.format_exception(fault)
        path.with_name(f"{path.name}.txt").write_text("".join(lines), errors="replace")
        return path


def smallest(feed: Callable[[bytes], None], data: bytes, seconds: float = 120) -> bytes:
    """Return a small input with the same kind of fault: less events, less fields, less bytes.

    After some seconds it is the smallest by then.
    """
    end = time.monotonic() + seconds
    fault = fault_of(feed, data)
    if fault is None:
        return data
    wanted = kind_of(fault)

    def still(candidate: bytes) -> bool:
        if time.monotonic() > end:
            return False
        found = fault_of(feed, candidate)
        return found is not None and kind_of(found) == wanted

    plain = unpacked(data)
    data = plain if still(plain) else data
    while (
        smaller := next((c for c in _smaller(data) if len(c) < len(data) and still(c)), None)
    ) is not None:
        data = smaller
    return data


def _smaller(data: bytes) -> Iterator[bytes]:
    """Yield inputs that lack a part, larger parts first."""
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        pass
    else:
        yield json.dumps(root, separators=(",", ":")).encode()
        for lesser in _lesser(root):
            yield json.dumps(lesser, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(data) < 5000:
        part = len(data) // 2
        while part:
            for place in range(0, len(data), part):
                yield data[:place] + data[place + part :]
            part //= 2


def _lesser(value: Any) -> Iterator[Any]:
    """Yield copies of a JSON value that lack parts of it."""
    if isinstance(value, list):
        yield from _shorter(value)
        for place, item in enumerate(value):
            for lesser in _lesser(item):
                yield [*value[:place], lesser, *value[place + 1 :]]
    elif isinstance(value, dict):
        for key, item in value.items():
            yield {other: kept for other, kept in value.items() if other != key}
            for lesser in _lesser(item):
                yield {**value, key: lesser}
    elif isinstance(value, str) and value:
        yield value[: len(value) // 2]
        yield value[:-1]
    elif isinstance(value, float):
        yield int(value) if abs(value) < 1e18 else 0


def _shorter(items: list[Any]) -> Iterator[list[Any]]:
    part = len(items)
    while part:
        for place in range(0, len(items), part):
            yield items[:place] + items[place + part :]
        part //= 2
