"""What the second process does: see `coworker`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Thread, Timer
from typing import Any

import msgspec

from tb_hookview.cache import file_state
from tb_hookview.trace.columns.builder import Builder
from tb_hookview.trace.columns.part import Told
from tb_hookview.trace.coworker import MAGIC
from tb_hookview.trace.source.size import BLOCK, estimated_size
from tb_hookview.trace.text.pieces import Root, Share, cut

WAITS_S = 60.0
"""Seconds after which a process that nobody gave a file to ends."""

_TELLS = 100
"""Messages of progress in all: so many fit into a pipe that nobody reads yet."""


def main() -> None:
    """Decode the share that a line on standard input names; end when that is closed."""
    patience = Timer(WAITS_S, os._exit, [0])
    patience.daemon = True
    patience.start()
    _tell(Told(0.0, 0))
    line = sys.stdin.buffer.readline()
    patience.cancel()
    if line:
        Thread(target=_end_with_the_other, daemon=True).start()
        _work(json.loads(line))


def _end_with_the_other() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(0)


def _work(job: dict[str, Any]) -> None:
    path, first = Path(job["path"]), int(job["first"])
    if list(file_state(path)) != job["state"]:
        return
    blocks = max(1, estimated_size(path) // BLOCK - first)
    builder = Builder()
    for number, part in enumerate(cut(path, share=Share(first))):
        if part.damages:  # where it is, and what it does to its neighbours, only one can tell
            return
        if isinstance(part, Root):
            if list(file_state(path)) == job["state"]:
                _tell(Told(1.0, builder.event_count, builder.part(), _head(part)))
            return
        builder.add(part)
        if number % (blocks // _TELLS + 1) == 0:
            _tell(Told(min(number / blocks, 1.0), builder.event_count))


def _head(root: Root) -> bytes | None:
    if root.head is None:
        return None
    return msgspec.json.encode(msgspec.structs.replace(root.head, traceEvents=msgspec.Raw(b"[]")))


def _tell(told: Told) -> None:
    message = msgspec.msgpack.encode(told)
    sys.stdout.buffer.write(MAGIC + len(message).to_bytes(8, "little"))
    sys.stdout.buffer.write(message)
    sys.stdout.buffer.flush()
