"""Runs a script or a module as `__main__`, as `python` itself does."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from tb_hookview.errors import UsageError


class CannotRunError(UsageError):
    """The script or module does not exist or cannot be run."""


def require_torch(what: str) -> None:
    """Check that torch is installed, without importing it.

    Raises:
        UsageError: it is not, although `what` needs it.
    """
    if importlib.util.find_spec("torch") is None:
        raise UsageError(
            f"{what}, and torch is not installed; "
            'install it with: pip install "tb-hookview[record]"'
        )


def run_script(path: str, arguments: Sequence[str]) -> None:
    """Run a script as `python path arguments` does; its exceptions propagate.

    Raises:
        CannotRunError: it cannot be read.
    """
    absolute = os.path.abspath(path)  # noqa: PTH100 - Path keeps no "..", resolve() follows links
    try:
        with io.open_code(absolute) as file:
            source = file.read()
    except OSError as error:
        raise CannotRunError(
            f"{path}: {error.strerror}; give a Python file, or -m MODULE"
        ) from None
    main = ModuleType("__main__")
    main.__dict__.update(
        __file__=absolute, __cached__=None, __loader__=SourceFileLoader("__main__", absolute)
    )
    _put_first(str(Path(absolute).resolve().parent))
    sys.argv[:] = [path, *arguments]
    _run(compile(source, absolute, "exec", dont_inherit=True), main)


def run_module(name: str, arguments: Sequence[str]) -> None:
    """Run a module as `python -m name arguments` does; its exceptions propagate.

    Raises:
        CannotRunError: there is no such module, or it is a package without a `__main__`.
    """
    _put_first(str(Path.cwd()))
    sys.argv[:] = ["-m", *arguments]
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _find(f"{name}.__main__")
    code = spec and getattr(spec.loader, "get_code", lambda _: None)(spec.name)
    if spec is None or code is None:
        raise CannotRunError(f"{name}: no such module, or it cannot be run with -m")
    main = ModuleType("__main__")
    main.__dict__.update(
        __file__=spec.origin,
        __cached__=spec.cached,
        __loader__=spec.loader,
        __package__=spec.parent,
        __spec__=spec,
    )
    sys.argv[0] = spec.origin or name
    _run(code, main)


def _run(code: Any, main: ModuleType) -> None:
    # For good: threads, exit handlers and pickles of the script look for their names there.
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _find(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise  # a parent package imports a module that is missing


def _put_first(folder: str) -> None:
    # With python -P the interpreter has not added the first entry.
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def own_traceback(error: BaseException) -> TracebackType | None:
    """Return an error's traceback from the script's first frame on."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_globals.get("__name__") in _STARTERS:
        traceback = traceback.tb_next
    return traceback


_STARTERS = {
    *(__name__, "tb_hookview.cli.run", "tb_hookview.cli.dry_run", "importlib.util"),
    "importlib._bootstrap",
}
"""Modules whose frames lie between the interpreter and the script."""


class AfterImport(MetaPathFinder):
    """Calls a function once a module has been imported, whoever imports it first.

    Importing it beforehand would be too early: what a script sets in the environment before it
    imports torch (`OMP_NUM_THREADS`, for example) must have its effect.
    """

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def install(self) -> None:
        """Wait for the import; call the function at once if the module is loaded."""
        if self._name in sys.modules:
            self._then()
        else:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module as the other finders do, with a loader that calls the function."""
        if name != self._name:
            return None
        others = (finder for finder in list(sys.meta_path) if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                del loader.exec_module
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self._then()

            loader.exec_module = exec_module
        return spec
