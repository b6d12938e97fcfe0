"""Small traces drawn as text, one character a microsecond.

    main     notes   [ProfilerStep#1                           ]
    main     ops      [mm seq=1 ]
    autograd ops                   [node seq=1 F=1]
    gpu      kernel                     [k corr=7]

Each line is `thread kind` and then bars. A bar is `[name key=value ...]`; brackets mark its first
and last microsecond. Names end at the first space; a name with spaces, or too long for its bar, is
given a label and looked up in `names`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BAR = re.compile(r"\[([^\]]*)\]")
_CATEGORY = {
    "ops": "cpu_op",
    "notes": "user_annotation",
    "calls": "cuda_runtime",
    "python": "python_function",
    "kernel": "kernel",
    "copy": "gpu_memcpy",
}
_KEY = {
    "seq": "Sequence number",
    "F": "Fwd thread id",
    "corr": "correlation",
    "ext": "External id",
    "graph": "graph id",
    "node": "graph node id",
}


def events(picture: str, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Complete events of a picture; times in microseconds from 1000."""
    rows = [line for line in picture.splitlines() if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in rows)
    result: list[dict[str, Any]] = []
    for line in rows:
        text = line[margin:]
        head = re.match(r"(\w+)\s+(\w+)\s", text)
        assert head, f"a line needs a thread and a kind: {line!r}"
        result += [_event(head[1], head[2], bar, names or {}) for bar in _BAR.finditer(text)]
    return result


def _event(thread: str, kind: str, bar: re.Match[str], names: Mapping[str, str]) -> dict[str, Any]:
    label, *pairs = bar[1].split() or [""]
    args = {}
    for pair in pairs:
        key, value = pair.split("=")
        args[_KEY.get(key, key)] = int(value)
    on_device = kind in ("kernel", "copy")
    return {
        "ph": "X",
        "cat": _CATEGORY[kind],
        "name": names.get(label, label),
        "pid": 0 if on_device else 77,
        "tid": 7 if on_device else thread,
        "ts": 1000 + bar.start(),
        "dur": bar.end() - bar.start(),
        "args": args,
    }


def write(path: Path, traced: list[dict[str, Any]], **root: Any) -> Path:
    """Write events as a trace file."""
    path.write_text(json.dumps({"schemaVersion": 1, **root, "traceEvents": traced}))
    return path
