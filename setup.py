"""Builds the page into the package; everything else is declared in pyproject.toml.

The bundle in tb_hookview/static/ is made from frontend/ whenever a wheel or an sdist is built. A
digest of the sources lies beside it, so that an unchanged page is not built twice and an sdist,
which carries both, installs without npm. An editable install builds nothing.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from setuptools import Command, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
FRONTEND = ROOT / "frontend"
STATIC = ROOT / "tb_hookview" / "static"
DIGEST = STATIC / "sources.sha256"
NOT_SOURCES = {"node_modules", "test-results", "README.md"}


def build_frontend() -> None:
    """Bring tb_hookview/static/ up to date with frontend/.

    Raises:
        SystemExit: the page has to be built and cannot be.
    """
    if not (FRONTEND / "package.json").is_file():
        return
    digest = _digest(FRONTEND)
    if DIGEST.is_file() and DIGEST.read_text() == digest:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(
            "error: npm is not installed, and the page in frontend/ has to be built with it; "
            "install Node 20.19 or newer (https://nodejs.org), or install tb-hookview from a wheel"
        )
    installed = FRONTEND / "node_modules" / ".package-lock.json"
    lock = FRONTEND / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        _npm([npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"])
        installed.touch()
    _npm([npm, "run", "--silent", "build"])
    if not (STATIC / "index.js").is_file():
        raise SystemExit("error: `npm run build` in frontend/ left no tb_hookview/static/index.js")
    DIGEST.write_text(digest)


def _npm(command: list[str]) -> None:
    if subprocess.run(command, cwd=FRONTEND, check=False).returncode:
        raise SystemExit(f"error: `{' '.join(['npm', *command[1:]])}` failed in frontend/")


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(_sources(folder)):
        digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in NOT_SOURCES or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _sources(path)
        else:
            yield path


class BuildFrontend(Command):
    """`python setup.py build_frontend`: what `make frontend` calls."""

    description = "build the page into tb_hookview/static/"
    user_options: ClassVar[list[tuple[str, str | None, str]]] = []

    def initialize_options(self) -> None:
        """Nothing to set."""

    def finalize_options(self) -> None:
        """Nothing to settle."""

    def run(self) -> None:
        """Build the page if it is not up to date."""
        build_frontend()


class BuildPy(build_py):
    """`build_py` with the page in it."""

    def run(self) -> None:
        """Build the page, then copy the package as ever."""
        if not self.editable_mode:
            build_frontend()
            # A page of an earlier build, whose hashed names nothing would overwrite.
            shutil.rmtree(Path(self.build_lib) / "tb_hookview" / "static", ignore_errors=True)
        super().run()


class Sdist(sdist):
    """`sdist` with the built page in it."""

    def run(self) -> None:
        """Build the page, then pack as ever."""
        build_frontend()
        super().run()


setup(cmdclass={"build_frontend": BuildFrontend, "build_py": BuildPy, "sdist": Sdist})
