"""What no part of the program may do with what it is given: change anything for a request, or run
what it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tb_hookview
from tb_hookview.server import create_app

PACKAGE = Path(tb_hookview.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
UNPICKLING = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
WORDS = UNPICKLING | {"eval", "exec", "system", "popen", "load", "shell"}
"""What any of it has in it."""
SCRIPT = PACKAGE / "cli" / "script.py"
"""`hookview run` runs the script that the user names: this is what it is for."""
PIPES = PACKAGE / "workers" / "work.py"
"""What a process of ours sends through a pipe that no other process has, is pickled by it."""


def test_no_route_changes_anything() -> None:
    for rule in create_app(None).url_map.iter_rules():
        assert rule.methods
        assert rule.methods <= {"GET", "HEAD", "OPTIONS"}, rule.rule


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Calls with what is called as it is written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield written(node.func), node


def written(called: ast.expr) -> str:
    """What is called as it is written, where that is a name with dots."""
    if isinstance(called, ast.Attribute):
        return f"{written(called.value)}.{called.attr}"
    return called.id if isinstance(called, ast.Name) else ""


def test_nothing_read_is_ever_run() -> None:
    for path in FILES:
        text = path.read_text()
        if not any(word in text for word in WORDS):
            continue
        tree = ast.parse(text)
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            unpickling = UNPICKLING & {name.partition(".")[0] for name in names}
            assert path == PIPES or not unpickling, path
        for name, call in calls(tree):
            assert name not in {"eval", "os.system", "os.popen"}, path
            assert name != "exec" or path == SCRIPT, path
            assert name != "torch.load", path
            shell = [keyword for keyword in call.keywords if keyword.arg == "shell"]
            assert not shell, f"{path}: a shell would read what is written in a path"
