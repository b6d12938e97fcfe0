"""Shows what the compiler traced, and each frame that it is about to trace, inlined ones too."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from tb_hookview.recorder.compiled.compilation import guarded
from tb_hookview.recorder.compiled.imports import once_imported

_TRANSLATOR = "torch._dynamo.symbolic_convert"
Look = Callable[[CodeType, str], None]
_look: Look | None = None


def begin(look: Look) -> None:
    """Call a function with the code of each frame, and its guards if it was traced before."""
    global _look
    _look = look
    once_imported(_TRANSLATOR, lambda: guarded(_install))


def end() -> None:
    """Call it no more."""
    global _look
    _look = None


def _install() -> None:
    for reference in _traced():
        code = reference()
        if _look is not None and code is not None:
            _look(code, _guards_of(code))
    translator: Any = sys.modules[_TRANSLATOR].InstructionTranslatorBase
    original = translator.__init__
    if hasattr(original, "_shows_code"):
        return

    @functools.wraps(original)
    def begin_frame(*args: Any, **kwargs: Any) -> None:
        guarded(_show, kwargs.get("f_code"))
        original(*args, **kwargs)

    begin_frame._shows_code = True  # type: ignore[attr-defined]
    translator.__init__ = begin_frame


def _traced() -> list[Any]:
    convert_frame: Any = sys.modules.get("torch._dynamo.convert_frame")
    return list(getattr(getattr(convert_frame, "input_codes", None), "seen", ()))


def _guards_of(code: CodeType) -> str:
    entries = sys.modules["torch._C._dynamo.eval_frame"]._debug_get_cache_entry_list(code)
    return "".join(str(entry.guard_manager) for entry in entries)


def _show(code: CodeType | None) -> None:
    if _look is not None and code is not None:
        _look(code, "")
