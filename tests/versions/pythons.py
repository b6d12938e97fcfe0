"""Checks the wheel on several versions of Python; brings benchmarks/results/pythons.md up to date.

    python tests/versions/pythons.py [--wheel WHEEL] [PYTHON ...]

Each interpreter gets a virtual environment of its own, which is removed again. In it the wheel is
installed with what it needs and with the extras that hold code of ours but no torch, every module
is imported, `hookview analyze` and `hookview sql` read a recorded trace, and TensorBoard loads the
tab and answers with the report of that trace. Without a wheel, one is built from the checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.tensorboard_process import running  # noqa: E402

TRACE = ROOT / "tests" / "data" / "recorder_v1.pt.trace.json.gz"
PAGE = ROOT / "benchmarks" / "results" / "pythons.md"
PYTHONS = ("python3.10", "python3.11", "python3.12", "python3.13")
EXTRAS = "sql,mcp,pandas,dask,s3"
SHOWN = ("numpy", "msgspec", "isal", "protobuf", "tensorboard", "duckdb", "mcp", "distributed")
IMPORT_ALL = """
import importlib, pathlib, tb_hookview
package = pathlib.Path(tb_hookview.__file__).parent
for path in sorted(package.rglob("*.py")):
    if path.name != "__main__.py":
        parts = path.relative_to(package.parent).with_suffix("").parts
        try:
            importlib.import_module(".".join(parts).removesuffix(".__init__"))
        except ModuleNotFoundError as error:
            assert error.name == "torch", error
"""
"""Imports every module of the package, as far as they import no torch."""
COUNT = "select count(*) from modules"
HEAD = """# Versions of Python

`make pythons` installs the wheel on each version of Python below, in a virtual environment of its
own without torch, and writes this page. There every module is imported, except those that import
torch, `hookview analyze` and `hookview sql` read a recorded trace (`tests/data/`), and TensorBoard
loads the tab and answers with the report of that trace. The extras installed are {extras}. The
recorder and what the extras do are tested by `make test`, on the Python that it is run with.
Machine: {machine}.

| Python | wheel, extras | `hookview analyze` | `sql` | tab in TensorBoard | installed with | date |
| --- | --- | --- | --- | --- | --- | --- |
"""


class Checked(NamedTuple):
    """What an interpreter does with the wheel."""

    python: str
    wheel: str
    packages: dict[str, str]
    """Versions of what was installed with it."""

    def row(self) -> str:
        """Its row on the page; everything before it in the row has held, or there is none."""
        shown = ", ".join(f"{name} {self.packages[name]}" for name in SHOWN)
        day = datetime.now(timezone.utc).date()
        held = "install | prints the summary | answers | loads, answers"
        return f"| {self.python} | {held} | {shown} | {day} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", default=PYTHONS, metavar="PYTHON")
    parser.add_argument("--wheel", type=Path, help="instead of one built from the checkout")
    chosen = parser.parse_args()
    missing = [python for python in chosen.pythons if shutil.which(python) is None]
    if missing:
        sys.exit(f"not on the PATH: {', '.join(missing)}; install them, or name others")
    with tempfile.TemporaryDirectory() as folder:
        wheel = (chosen.wheel or build(Path(folder))).resolve()
        rows = [check(python, wheel, Path(folder)).row() for python in chosen.pythons]
    PAGE.write_text(HEAD.format(machine=machine(), extras=_listed()) + "\n".join(rows) + "\n")


def build(folder: Path) -> Path:
    """Return a wheel of the checkout."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check(interpreter: str, wheel: Path, scratch: Path) -> Checked:
    """Return what was seen with one interpreter.

    Raises:
        SystemExit: a command failed; its last lines say how.
        AssertionError: it answered otherwise than the Pythons before.
    """
    print(f"{interpreter}: installing {wheel.name}", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        python = install(interpreter, wheel, Path(folder) / "environment")
        logdir = Path(folder) / "logs"
        (logdir / "run").mkdir(parents=True)
        shutil.copy(TRACE, logdir / "run" / f"host.1700000000123{''.join(TRACE.suffixes[-4:])}")
        summary = run(python.with_name("hookview"), "analyze", "--verbose", logdir)
        assert re.search(r"backward [\d.]+ [mu]?s", summary), summary
        counted = run(python.with_name("hookview"), "sql", logdir, COUNT, "--format", "csv")
        assert int(counted.splitlines()[-1]) > 1, counted
        check_tab(python, logdir)
        listed = json.loads(run(python, "-m", "pip", "list", "--format", "json"))
        packages = {package["name"].lower(): package["version"] for package in listed}
        version = run(python, "-c", "import platform; print(platform.python_version())").strip()
    return Checked(version, wheel.name, packages)


def install(interpreter: str, wheel: Path, folder: Path) -> Path:
    """Return the interpreter of a new environment that has the wheel."""
    run(interpreter, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[{EXTRAS}]")
    run(python, "-c", IMPORT_ALL)
    return python


def check_tab(python: Path, logdir: Path) -> None:
    """Hold that TensorBoard lists the tab, serves its page and answers with the report."""
    with running(python, "--logdir", str(logdir)) as tensorboard:
        assert tensorboard.json("data/plugins_listing")["hookview"]["enabled"] is True
        assert b"<script" in tensorboard.get("data/plugin/hookview/index.html")
        assert tensorboard.get("data/plugin/hookview/index.js")
        report = tensorboard.json("data/plugin/hookview/api/report?run=run&worker=host")
        assert len(report["modules"]) > 1
        assert report["nodes"]


def run(*command: str | Path) -> str:
    """Return what a command prints on standard output."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd="/")
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def _listed() -> str:
    return ", ".join(f"`{extra}`" for extra in EXTRAS.split(","))


def machine() -> str:
    """The machine in words."""
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    main()
