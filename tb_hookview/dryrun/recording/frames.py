"""Python frames at a sync: which of them are the program's, and what they are doing."""

from __future__ import annotations

import ast
import dis
import linecache
import os
import re
import sys
import sysconfig
from bisect import bisect_right
from collections.abc import Iterator
from enum import IntEnum
from functools import cache, lru_cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import torch

_TORCH = str(Path(torch.__file__).parent) + os.sep
_OURS = str(Path(__file__).parents[1]) + os.sep
_STARTER = str(Path(__file__).parents[2] / "cli") + os.sep
"""What runs a script: frames from here outwards are not its own."""
_STDLIB = str(Path(os.__file__).parent) + os.sep
_PACKAGES = tuple({sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")})
_MACHINERY = (
    *("nn/modules/module.py", "utils/_contextlib.py", "torch/_ops.py", "_python_dispatch.py"),
    *("torch/overrides.py", "torch/_tensor.py", "autograd/__init__.py", "autograd/graph.py"),
    *("autograd/function.py", "torch/library.py", "_library/utils.py", "optim/optimizer.py"),
    *("_compile.py", "eval_frame.py", "torch/functional.py", "optim/lr_scheduler.py"),
    *("amp/autocast_mode.py", "utils/_device.py", "_library/custom_ops.py"),
)
"""Files of torch that only pass a call on."""
OFFLOADING = frozenset({"pack_to_cpu", "unpack_from_cpu"})
"""Functions of `torch.autograd.graph.save_on_cpu`, which copy themselves."""
_UPDATES = (
    *("torch/optim/optimizer.py", "torch/amp/grad_scaler.py", "torch/nn/utils/clip_grad.py"),
)


class Owner(IntEnum):
    """Whose code a frame runs."""

    NOBODY = 0
    TORCH = 1
    PROGRAM = 2


class Use(IntEnum):
    """What the program's instruction does with the tensor."""

    CALL = 0
    BRANCH = 1
    SUBSCRIPT = 2


class Spot(NamedTuple):
    """A place of the program."""

    code: CodeType
    line: int
    last_line: int
    column: int | None
    last_column: int | None
    use: Use

    @property
    def filename(self) -> str:
        """The file, as Python names it."""
        return self.code.co_filename


@cache
def owner(code: CodeType) -> Owner:
    """Return whose code it is."""
    name = code.co_filename
    if name.startswith((_OURS, "<frozen")):
        return Owner.NOBODY
    if name.startswith(_TORCH):
        passes_on = name.endswith(_MACHINERY) and code.co_name not in OFFLOADING
        return Owner.NOBODY if passes_on else Owner.TORCH
    if name.startswith(_STDLIB) and not name.startswith(_PACKAGES):
        return Owner.NOBODY
    return Owner.PROGRAM


def outward(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and those of the program that called it."""
    while frame is not None and not frame.f_code.co_filename.startswith(_STARTER):
        yield frame
        frame = frame.f_back


def codes_around(frame: FrameType | None) -> list[CodeType]:
    """Return the code of each frame outwards, up to the closure of an optimizer's step, which is
    no part of the update."""
    codes: list[CodeType] = []
    for each in outward(frame):
        closure = _closure(each)
        if closure in codes:
            return codes[: codes.index(closure) + 1]
        codes.append(each.f_code)
    return codes


def is_update(code: CodeType) -> bool:
    """Whether it is of an optimizer's step, a gradient scaler or gradient clipping."""
    return code.co_filename.endswith(_UPDATES)


def _closure(frame: FrameType) -> CodeType | None:
    """The code of the closure of a step, if the frame is of what torch puts around a step."""
    code = frame.f_code
    if code.co_name != "wrapper" or not code.co_filename.endswith("torch/optim/optimizer.py"):
        return None
    given = dict(enumerate(frame.f_locals.get("args", ()))) | frame.f_locals.get("kwargs", {})
    function = given.get(1, given.get("closure"))
    while isinstance(function, partial):
        function = function.func
    called = function if hasattr(function, "__code__") else type(function).__call__
    return getattr(called, "__code__", None)


def spot(frame: FrameType) -> Spot:
    """Return where a frame is."""
    code, instruction = frame.f_code, frame.f_lasti
    line = frame.f_lineno or code.co_firstlineno
    place = _position(code, instruction)
    first, last, column, last_column = place or (line, line, None, None)
    return Spot(code, first or line, last or line, column, last_column, _use(code, instruction))


@lru_cache(maxsize=4096)
def _position(
    code: CodeType, instruction: int
) -> tuple[int | None, int | None, int | None, int | None] | None:
    """Lines and columns of the expression that an instruction is of (Python 3.11 and newer)."""
    positions = getattr(code, "co_positions", None)
    if positions is None or instruction < 0:
        return None
    for number, place in enumerate(positions()):
        if number == instruction // 2:
            return place  # type: ignore[no-any-return]
    return None


@lru_cache(maxsize=4096)
def _use(code: CodeType, instruction: int) -> Use:
    if instruction < 0 or instruction >= len(code.co_code):
        return Use.CALL
    name = dis.opname[code.co_code[instruction]]
    if "JUMP" in name or name in {"TO_BOOL", "UNARY_NOT"}:
        return Use.BRANCH
    if name in {"BINARY_SUBSCR", "STORE_SUBSCR", "BINARY_SLICE", "STORE_SLICE"}:
        return Use.SUBSCRIPT
    if name == "BINARY_OP" and "[" in dis._nb_ops[code.co_code[instruction + 1]][1]:  # type: ignore[attr-defined]
        return Use.SUBSCRIPT
    return Use.CALL


@cache
def shown(filename: str) -> str:
    """Return a file's name without the folder of `sys.path` or the working folder it is in."""
    roots = [str(Path.cwd()), *sys.path]
    fitting = [root for root in roots if root and filename.startswith(root.rstrip(os.sep) + os.sep)]
    longest = max(map(len, fitting), default=-1)
    return filename[longest:].lstrip(os.sep) if fitting else filename


# Statements of source files: the whole text of the one that a line is a part of.


_BRACKETS = re.compile(r"([(\[{]) +| +([)\]}])")
LONGEST = 200
"""Characters of a statement that are shown."""


class Statement(NamedTuple):
    """Lines of a statement; of a compound one those of its header."""

    first: int
    last: int


def statement_text(filename: str, line: int) -> str:
    """Return the statement around a line, in one line; "" where the source is unknown."""
    place = _around(filename, line)
    lines = linecache.getlines(filename)[place.first - 1 : place.last]
    text = _BRACKETS.sub(r"\1\2", " ".join(filter(None, map(_without_comment, lines))))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _without_comment(line: str) -> str:
    code, mark, _ = line.partition("  #")
    return (code if mark else line).strip()


def _around(filename: str, line: int) -> Statement:
    known = _statements(filename)
    place = bisect_right(known, (line, 1 << 30)) - 1
    while place >= 0:
        if known[place].last >= line:
            return known[place]
        place -= 1
    return Statement(line, line)


@lru_cache(maxsize=256)
def _statements(filename: str) -> list[Statement]:
    """Statements of a file by their first line."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = [_lines_of(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return sorted(set(found))


def _lines_of(node: ast.stmt) -> Statement:
    """Lines of a statement without the statements inside it."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        decorators = [each.lineno for each in getattr(body[0], "decorator_list", ())]
        inside = min([body[0].lineno, *decorators])
        return Statement(node.lineno, max(node.lineno, inside - 1))
    return Statement(node.lineno, node.end_lineno or node.lineno)
