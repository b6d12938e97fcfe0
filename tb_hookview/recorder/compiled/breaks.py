"""Graph breaks as Dynamo reports them: line and reason."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

_MOST = 512
"""Breaks that are kept."""
_REASON = 160
"""Characters of a reason."""


class Break(NamedTuple):
    """Where one graph ended, and Python goes on."""

    file: str
    line: int
    function: str
    reason: str


_breaks: OrderedDict[str, Break] = OrderedDict()
"""The last breaks by compile id; a region ends in one at most."""


def note(reason: Any) -> None:
    """Note why a graph ends, by torch's `GraphCompileReason`."""
    _drop_reset()
    if not reason.graph_break or not reason.user_stack:
        return
    compile_id = str(torch._guards.CompileContext.current_compile_id())
    at = reason.user_stack[-1]
    text = str(reason.reason).strip().partition("\n")[0][:_REASON]
    _breaks.pop(compile_id, None)
    _breaks[compile_id] = Break(at.filename, int(at.lineno or 0), at.name, text)
    while len(_breaks) > _MOST:
        _breaks.popitem(last=False)


def describe(shorten: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return one row per break; none where a reset of the compiler has dropped its code.

    Args:
        shorten: makes a file's path one that may be shared.
    """
    _drop_reset()
    return [
        {"compile_id": compile_id, **each._asdict(), "file": shorten(each.file)}
        for compile_id, each in _breaks.items()
    ]


def _drop_reset() -> None:
    """Drop the breaks of code that a reset of the compiler has dropped: it numbers from 0 again."""
    codes = getattr(sys.modules.get("torch._dynamo.convert_frame"), "output_codes", None)
    if not getattr(codes, "seen", None):
        _breaks.clear()
