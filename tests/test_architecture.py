"""The layers: which part may import which. The table is in the package's README."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "tb_hookview"
MOST_FILES = 30
"""Source files of one folder."""
FILES = [
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__"
]


class Part(NamedTuple):
    """A row of the table: what a part may import."""

    ours: set[str]
    foreign: set[str]


def read_table() -> dict[str, Part]:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|([^|]*)\|$", README, re.MULTILINE)
    return {
        name: Part({name, "errors", *_names(ours)}, _names(foreign)) for name, ours, foreign in rows
    }


def _names(cell: str) -> set[str]:
    return set(filter(None, cell.strip().split(", ")))


README = (PACKAGE / "README.md").read_text()
PARTS = read_table()


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements of a file or of one of them, without their expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from statements(child)


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Modules a file imports anywhere in it, in full."""
    found: set[str] = set()
    for node in statements(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def folder_of(name: str) -> Path | None:
    """The folder of the package that a dotted name lies in."""
    path = PACKAGE.joinpath(*name.split(".")[1:])
    while not (path.with_suffix(".py").is_file() or path.is_dir()):
        path = path.parent
    return path if path.is_dir() else path.parent


def test_every_part_is_in_the_table() -> None:
    assert {part_of(path) for path in FILES} == set(PARTS)


def test_the_table_points_one_way() -> None:
    above: set[str] = {"errors"}
    for name, part in PARTS.items():
        assert part.ours - {name} <= above, f"{name} imports a part below it in the table"
        above.add(name)


def test_imports_are_those_of_the_table() -> None:
    found = {name: Part({name, "errors"}, set()) for name in PARTS}
    for path in FILES:
        part = found[part_of(path)]
        for name in imports_of(path):
            top, _, rest = name.partition(".")
            if top == "tb_hookview":
                inner = rest.split(".")[0]
                part.ours.add(inner if inner in PARTS else "the package itself")
            elif top not in sys.stdlib_module_names:
                part.foreign.add(top)
    found["integrations"].foreign.update(("lightning", "pytorch_lightning"))  # by name
    assert found == PARTS


def test_folders_of_a_part_import_without_a_circle() -> None:
    graph = defaultdict(set)
    for path in FILES:
        for name in imports_of(path):
            if name.startswith(f"tb_hookview.{part_of(path)}."):
                folder = folder_of(name)
                if folder != path.parent:
                    graph[path.parent].add(folder)
    list(TopologicalSorter(graph).static_order())


def test_no_folder_is_overfull() -> None:
    folders = {path.parent for path in FILES}
    files = {folder: len(list(folder.glob("*.py"))) for folder in folders}
    assert {folder: count for folder, count in files.items() if count > MOST_FILES} == {}


def test_an_integration_imports_its_own_library_alone() -> None:
    for path in (PACKAGE / "integrations").glob("*.py"):
        foreign = {name.partition(".")[0] for name in imports_of(path)}
        foreign -= {"torch", "tb_hookview", path.stem, *sys.stdlib_module_names}
        assert not foreign, f"{path}: {foreign}"


def test_the_package_itself_names_no_integration() -> None:
    assert "integrations" not in (PACKAGE / "__init__.py").read_text()


def test_every_part_says_what_it_is() -> None:
    parts = [PACKAGE / part / "__init__.py" for part in PARTS if (PACKAGE / part).is_dir()]
    assert [path for path in parts if not ast.get_docstring(tree_of(path))] == []


def test_files_and_functions_stay_readable() -> None:
    """At most 600 lines a file and 40 a function, its docstring aside."""
    long = []
    for path in FILES:
        text, name = path.read_text(), path.relative_to(PACKAGE)
        long += [f"{name}: {n} lines" for n in [len(text.splitlines())] if n > 600]
        functions = _functions(tree_of(path)).items()
        long += [f"{name}: {function}: {n} lines" for function, n in functions if n > 40]
    assert not long


def _functions(tree: ast.Module) -> dict[str, int]:
    """Lines of each function without its docstring, by name and first line."""
    found = {}
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = [part for part in node.body if not _is_docstring(part)] or node.body
            lines = (node.end_lineno or 0) - body[0].lineno + 1
            found[f"{node.name}:{node.lineno}"] = lines
    return found


def _is_docstring(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


LIGHT = {"__init__.py", "plugin.py", "cli"}
"""Imported before it is known what is asked for: they import what they need as they need it."""
OPTIONAL = {
    "IPython",
    "distributed",
    "duckdb",
    "fsspec",
    "google",
    "mcp",
    "mpi4py",
    "pandas",
    "polars",
    "pyarrow",
}
LAZY = {
    # It takes long to import, and few have something to log.
    "cache/background.py": {"logging"},
    # It imports bz2 and lzma by way of shutil, and only who writes an entry needs it.
    "cache/entries.py": {"platformdirs", "tempfile"},
    # A trace without a gain to state is not replayed.
    "rules/gains.py": {
        "tb_hookview.rules.engine.removal",
    },
    "rules/diagnosis.py": {
        "tb_hookview.rules.engine.removal",
        "tb_hookview.simulation.changes",
    },
    # Its import takes longer than a cached report takes to load, and only the default folder
    # needs it.
    # A cached report is loaded without numpy, rules and reader.
    "loading/cached_reader.py": {
        "tb_hookview.analysis.analysis",
        "tb_hookview.loading",
        "tb_hookview.trace.reader",
        "tb_hookview.workers.pool",
    },
    "report/open_trace.py": {
        "tb_hookview.analysis.selection",
        "tb_hookview.report.build",
        "tb_hookview.report.whatif",
        "tb_hookview.tables.catalogue",
        "tb_hookview.timeline",
        "tb_hookview.timeline.replayed",
    },
    # Who only writes a report as JSON needs neither its tables, its summary nor what-ifs.
    "report/result.py": {
        "tb_hookview.document.html",
        "tb_hookview.document.plain",
        "tb_hookview.report.summary.brief",
        "tb_hookview.sql",
        "tb_hookview.tables.catalogue",
    },
    # They import the analyzer's rules and tables, and only who looks at a result needs them.
    "dryrun/run.py": {"tb_hookview.dryrun.rows"},
    # Few of those who read a watched training ask it in SQL.
    "history/tables.py": {"tb_hookview.sql"},
    # Windows has none.
    "sql/confined.py": {"resource"},
    "watching/keeping.py": {"resource"},
    # It takes a fifth of a second to import, and may not be installed.
    "watching/scalars.py": {
        "tensorboard.compat.proto.event_pb2",
        "tensorboard.compat.proto.summary_pb2",
        "tensorboard.summary.writer.record_writer",
    },
    # Few of those who read a run ask it in SQL.
    "ranks/result.py": {"tb_hookview.sql"},
    # The tables of a cached report are made without numpy, until one at event level is asked for.
    "tables/outlets/arrow.py": {"tb_hookview.tables.model.columns"},
    "tables/outlets/frames.py": {"numpy", "tb_hookview.tables.model.columns"},
    # It imports logging; whoever made the processes that are waited for has imported it.
    "trace/reader.py": {"concurrent.futures"},
    # They import threads, dates and hashes, and most traces are on this machine.
    "trace/source/runs.py": {"tb_hookview.trace.source.remote_listing"},
    "trace/source/file.py": {"tb_hookview.trace.source.remote"},
    # It imports bz2 and lzma, and few traces are in a zip file.
    "trace/source/inflate.py": {"tb_hookview.trace.source.zipped"},
}
"""Modules imported in functions, by file."""


def test_imports_stand_at_the_top_of_a_file() -> None:
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE)
        if name.parts[0] not in LIGHT and (lazy := _imports_in_functions(path)):
            found[name.as_posix()] = lazy
    assert found == LAZY


def _imports_in_functions(path: Path) -> set[str]:
    """Modules that functions of a file import, without those that need not be installed."""
    found: set[str] = set()
    for function in statements(tree_of(path)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in statements(function):
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    found.add(str(node.module))
    return {name for name in found if name.partition(".")[0] not in OPTIONAL}


TESTS = PACKAGE.parent / "tests"
NO_MIRROR = {
    "damage",
    "data",
    "fuzz",
    "invariants",
    "mutation",
    "sample_traces",
    "support",
    "versions",
    "wheel",
}
"""Folders of tests that are about no one part; tests/README.md says what they hold."""


def test_tests_mirror_the_package() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path()}
    mirrored = {folder for folder in folders if folder.parts[0] not in NO_MIRROR}
    assert mirrored
    strays = [
        folder
        for folder in mirrored
        if not ((PACKAGE / folder).is_dir() or (PACKAGE / folder).with_suffix(".py").is_file())
    ]
    assert strays == []
