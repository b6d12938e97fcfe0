"""A copy of the tree for one target, set up for mutmut; the tree itself is never written to."""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from targets import Target

HERE = Path(__file__).resolve().parent
PACKAGE, TESTS = "tb_hookview", "tests"
_COPIED = (PACKAGE, TESTS, "sample_traces", "pyproject.toml", "README.md")
_PYTEST = (
    *("-p", "noticing", "--hypothesis-profile=noticing", "-p", "no:cacheprovider"),
    # Two full garbage collections a run are a third of what a run costs.
    *("-p", "no:unraisableexception"),
)
_OPENED = ("property", "cached_property")


def working_copy(tree: Path, target: Target, folder: Path, tools: str, quick: bool) -> Path:
    """Make or reuse the copy of a target in `folder`; `quick` leaves its slow tests out.

    It is reused, with the verdicts in it, as long as the tree's Python files, the target and
    `tools` (the versions in use) stay the same.
    """
    copy, digest = folder / target.name, _digest(tree, target, f"{tools} {quick}")
    stamp = copy / "digest"
    if stamp.exists() and stamp.read_text() == digest:
        return copy
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for name in _COPIED:
        source = tree / name
        if source.is_dir():
            shutil.copytree(
                source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "found")
            )
        else:
            shutil.copy2(source, copy / name)
    module = copy / PACKAGE / target.module
    module.write_text(open_properties(module.read_text()))
    with (copy / "pyproject.toml").open("a") as file:
        file.write(_settings(copy, target, quick))
    stamp.write_text(digest)
    return copy


def open_properties(text: str) -> str:
    """Write properties as a plain method and an assignment: mutmut skips decorated functions.

    `@cached_property` over `def busy(self)` becomes `def busy_property(self)` and, after it,
    `busy = cached_property(busy_property)`.
    """
    lines = text.splitlines()
    for node in sorted(_properties(ast.parse(text)), key=lambda node: -node.lineno):
        decorator = node.decorator_list[0]
        indent = " " * node.col_offset
        assignment = f"{indent}{node.name} = {ast.unparse(decorator)}({node.name}_property)"
        lines.insert(node.end_lineno or node.lineno, assignment)
        head = lines[node.lineno - 1]
        lines[node.lineno - 1] = head.replace(f"def {node.name}(", f"def {node.name}_property(", 1)
        del lines[decorator.lineno - 1]
    return "\n".join(lines) + "\n"


def _properties(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Methods whose one decorator is one of `_OPENED`."""
    for parent in ast.walk(tree):
        for node in parent.body if isinstance(parent, ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef) and [
                ast.unparse(decorator) for decorator in node.decorator_list
            ] in ([name] for name in _OPENED):
                yield node


def files_of(copy: Path, target: Target) -> list[str]:
    """The target's test files, relative to the copy; raises FileNotFoundError where none is."""
    found: set[Path] = set()
    for pattern in target.tests:
        files = set((copy / TESTS).glob(pattern.lstrip("!")))
        if not files:
            raise FileNotFoundError(f"{target.name}: no tests/{pattern}")
        found = found - files if pattern.startswith("!") else found | files
    return sorted(str(path.relative_to(copy)) for path in found)


def _settings(copy: Path, target: Target, quick: bool) -> str:
    others = [name for name in _COPIED if name not in (PACKAGE, TESTS, "pyproject.toml")]
    values = {
        "source_paths": [PACKAGE],
        "only_mutate": [f"{PACKAGE}/{target.module}"],
        "also_copy": others,
        "pytest_add_cli_args_test_selection": files_of(copy, target),
        "pytest_add_cli_args": [*_PYTEST, *(["-m", "not slow"] if quick else [])],
        # Mutants start from a process that has imported the tests and run none, so that no cache
        # of a function holds what the unchanged code gave.
        "process_isolation": "forkserver",
        "use_git_change_detection": False,
        # A busy machine must not count as a fault that was noticed: the limit is processor time, in
        # `noticing.py`, and this one, of the clock, is for tests that sleep for ever (5 minutes).
        "timeout_constant": 10.0,
        "timeout_multiplier": 30.0,
    }
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    return "\n[tool.mutmut]\n" + "".join(lines)


def _digest(tree: Path, target: Target, tools: str) -> str:
    digest = hashlib.sha256(repr((target, tools)).encode())
    for folder in (PACKAGE, TESTS):
        files = (tree / folder).rglob("*.py")
        for path in sorted(path for path in files if path.parent.name != HERE.name):
            digest.update(str(path.relative_to(tree)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
