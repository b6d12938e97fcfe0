"""The recorder runs inside the user's training: it may bring nothing along but torch."""

from __future__ import annotations

import ast
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import tb_hookview

FOLDER = Path(tb_hookview.__file__).parent / "recorder"
OURS = ("recorder", "after_import", "markers", "errors", "addresses")
"""The last imports fsspec where a recording is written to an address, and nothing before."""
ALLOWED = {"torch", *(f"tb_hookview.{part}" for part in OURS)}


def imported(source: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    return names


@pytest.mark.parametrize("source", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.name)
def test_nothing_but_torch_and_the_standard_library(source):
    foreign = {
        name
        for name in imported(source)
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not any(name == allowed or name.startswith(f"{allowed}.") for allowed in ALLOWED)
    }
    assert foreign == set()


def test_every_public_name_is_found_by_dir_and_help():
    assert set(tb_hookview.__all__) <= set(dir(tb_hookview))
    text = pydoc.plain(pydoc.render_doc(tb_hookview))
    assert all(f"    {name}(" in text for name in ("wrap", "unwrap", "profile", "analyze"))


def test_without_torch_dir_has_what_there_is():
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "import tb_hookview, pydoc\n"
        "pydoc.render_doc(tb_hookview)\n"
        "print('analyze' in dir(tb_hookview), 'wrap' in dir(tb_hookview))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
