"""Adding marks to a trace file that torch wrote."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from typing import Any

from tb_hookview.recorder.backward_marks_from_trace import Mark

_BEGIN = b'"traceEvents": ['
_BASE = re.compile(rb'\s*"baseTimeNanoseconds": (\d+),')


def copy(source: Any, target: Any, marks: Iterable[Mark]) -> None:
    """Copy a trace file, with marks in front of the events in it.

    Args:
        source, target: open binary files, compressed ones included.
        marks: what to add.
    """
    base_ns = 0
    for line in source:
        target.write(line)
        if match := _BASE.match(line):
            base_ns = int(match[1])
        if line.strip() == _BEGIN:
            target.writelines(_row(mark, base_ns) for mark in marks)
            break
    shutil.copyfileobj(source, target, 1 << 20)


def _row(mark: Mark, base_ns: int) -> bytes:
    microseconds, rest = divmod(mark.time - base_ns, 1000)
    return (
        f'  {{"ph": "X", "cat": "cpu_op", "name": {json.dumps(mark.name)}, "pid": {mark.process},'
        f' "tid": {mark.thread}, "ts": {microseconds}.{rest:03d}, "dur": 0, "args": {{}}}},\n'
    ).encode()
