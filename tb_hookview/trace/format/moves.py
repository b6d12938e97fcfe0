"""Names of copies and sets, of either exporter of torch.

Kineto says in a copy's name what it moves: `Memcpy HtoD (Pageable -> Device)`. The second exporter
of torch 2.15 calls every copy `Memcpy` and has the same facts as arguments. The name that Kineto
gives is the one home of these facts for all that is after the reader.
"""

from __future__ import annotations

_COPY, _SET = "Memcpy", "Memset"
UNNAMED = (_COPY, _SET)
"""Names that do not say what is moved."""

_DIRECTIONS = {9: "HtoH"}
"""CUPTI's numbers of what that exporter has no word for."""
_STATIC = ("Device Static", "Managed Static")
_MEMORY = ("Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", *_STATIC)
"""Kinds of memory by CUPTI's numbers, in Kineto's words."""
_WORDS = {word.lower().replace(" ", "_"): word for word in _MEMORY}


def move_name(name: str, copy_kind: object, source: object, target: object, memory: object) -> str:
    """The name of a copy or a set as Kineto writes it.

    An event that is neither, or lacks the arguments, keeps its name.

    Args:
        name: the name in the file.
        copy_kind, source, target, memory: the arguments of `MOVED`, None for those not there.
    """
    if name == _COPY and None not in (copy_kind, source, target):
        direction = copy_kind if isinstance(copy_kind, str) else _number(copy_kind, _DIRECTIONS)
        return f"{_COPY} {direction} ({_memory(source)} -> {_memory(target)})"
    return f"{_SET} ({_memory(memory)})" if name == _SET and memory is not None else name


def _memory(kind: object) -> str:
    if isinstance(kind, str):
        return _WORDS.get(kind, kind)
    return _number(kind, dict(enumerate(_MEMORY)))


def _number(kind: object, words: dict[int, str]) -> str:
    return words.get(kind, "Unknown") if isinstance(kind, int) else "Unknown"
