"""Docstrings of fields, read from a module's source."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from collections.abc import Iterator
from functools import cache


@cache
def docstrings(module: str) -> dict[str, dict[str, str]]:
    """By class and field; none where Python runs without the sources."""
    try:
        source = inspect.getsource(sys.modules[module])
    except OSError:
        return {}
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    return {node.name: dict(_documented(node.body)) for node in classes}


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, text in itertools.pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            yield field.target.id, _one_line(text.value.value)


def _one_line(text: str) -> str:
    return " ".join(text.split())
