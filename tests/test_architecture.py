"""The layers: which part may import which, held against the code itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "tb_hookview"
SHARED = {"markers", "errors", ""}
"""What every part may use; "" is the package itself, which loads its names on first use."""

MAY_IMPORT = {
    "markers": set(),
    "errors": set(),
    "recorder": {"recorder", *SHARED},
    "integrations": {"integrations", "recorder", *SHARED},
    "cache": {"cache", "errors", ""},
    "trace": {"trace", "cache", *SHARED},
    "analysis": {"analysis", "trace", "cache", *SHARED},
    "export": {"export", "analysis", "trace", "errors", ""},
    "timeline": {"timeline", "analysis", "trace", *SHARED},
    "server": {"server", "timeline", "analysis", "trace", "cache", *SHARED},
    "plugin": {"server", "trace", *SHARED},
    "cli": {"cli", "server", "export", "analysis", "trace", "recorder", "cache", *SHARED},
}
OUTSIDE = {
    "markers": set(),
    "errors": set(),
    "recorder": {"torch"},
    "integrations": {"torch", "transformers", "lightning", "pytorch_lightning"},
    "cache": {"isal", "platformdirs"},
    "trace": {"numpy", "msgspec", "isal"},
    "analysis": {"numpy", "msgspec", "pandas", "polars"},
    "export": {"numpy", "msgspec", "perfetto", "pyarrow"},
    "timeline": {"numpy"},
    "server": {"flask", "werkzeug", "msgspec", "isal"},
    "plugin": {"tensorboard", "flask", "_typeshed"},
    "cli": {"click", "rich", "msgspec", "tensorboard"},
}
FILES = [
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__"
]


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports_of(path: Path) -> Iterator[str]:
    """Modules a file imports anywhere in it, in full."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            if node.module == "tb_hookview":
                yield from (f"tb_hookview.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    part = part_of(path)
    for name in imports_of(path):
        top, _, rest = name.partition(".")
        if top == "tb_hookview":
            inner = rest.split(".")[0]
            known = inner if inner in MAY_IMPORT else ""
            assert known in MAY_IMPORT[part], f"{part} must not import {name}"
        elif top not in sys.stdlib_module_names:
            assert top in OUTSIDE[part], f"{part} must not import {name}"


def test_an_integration_imports_its_own_library_alone() -> None:
    for path in (PACKAGE / "integrations").glob("*.py"):
        foreign = {name.partition(".")[0] for name in imports_of(path)}
        foreign -= {"torch", "tb_hookview", path.stem, *sys.stdlib_module_names}
        assert not foreign, f"{path}: {foreign}"


def test_the_package_itself_names_no_integration() -> None:
    assert "integrations" not in (PACKAGE / "__init__.py").read_text()


def test_every_folder_has_a_readme() -> None:
    folders = {path.parent for path in FILES}
    assert [folder for folder in folders if not (folder / "README.md").is_file()] == []


def test_files_and_functions_stay_readable() -> None:
    """At most 500 lines a file and 40 a function, its docstring aside."""
    long = []
    for path in FILES:
        text, name = path.read_text(), path.relative_to(PACKAGE)
        long += [f"{name}: {n} lines" for n in [len(text.splitlines())] if n > 500]
        functions = _functions(text).items()
        long += [f"{name}: {function}: {n} lines" for function, n in functions if n > 40]
    assert not long


def _functions(text: str) -> dict[str, int]:
    """Lines of each function without its docstring, by name and first line."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = [part for part in node.body if not _is_docstring(part)] or node.body
            lines = (node.end_lineno or 0) - body[0].lineno + 1
            found[f"{node.name}:{node.lineno}"] = lines
    return found


def _is_docstring(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
