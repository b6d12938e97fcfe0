"""Shows the code of each frame to ours before the compiler traces it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from tb_hookview.recorder.compiled.imports import once_imported

_DYNAMO = "torch._dynamo.convert_frame"
_look: Callable[[CodeType], None] | None = None


def begin(look: Callable[[CodeType], None]) -> None:
    """Call a function with the code of what Dynamo has traced, and of what it is about to trace.

    Args:
        look: must not raise.
    """
    global _look
    _look = look
    once_imported(_DYNAMO, _install)


def end() -> None:
    """Call it no more."""
    global _look
    _look = None


def _install() -> None:
    dynamo: Any = sys.modules[_DYNAMO]
    original = getattr(dynamo, "_compile", None)
    if _look is None or original is None:
        return
    for reference in getattr(getattr(dynamo, "input_codes", None), "seen", ()):
        _show(reference())
    if hasattr(original, "_shows_code"):
        return

    @functools.wraps(original)
    def compile_frame(code: CodeType, *args: Any, **kwargs: Any) -> Any:
        _show(code)
        return original(code, *args, **kwargs)

    compile_frame._shows_code = True  # type: ignore[attr-defined]
    dynamo._compile = compile_frame


def _show(code: CodeType | None) -> None:
    if _look is not None and code is not None:
        _look(code)
