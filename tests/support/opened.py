"""Which files the interpreter opens, by its audit events."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_listening: list[list[str]] = []


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _listening and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100  # names as they came
        for heard in _listening:
            heard.append(path)


@cache
def _start_hearing() -> None:
    """Once: no audit hook can be taken off again. Not before it is needed: to Dynamo each call of
    it is a frame, which tests count."""
    sys.addaudithook(_hear)


@contextmanager
def opened() -> Iterator[list[str]]:
    """Collect the absolute paths of all files opened meanwhile, on any thread of this process."""
    _start_hearing()
    heard: list[str] = []
    _listening.append(heard)
    try:
        yield heard
    finally:
        _listening.remove(heard)
