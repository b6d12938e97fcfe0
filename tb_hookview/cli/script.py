"""Runs a script or a module as `__main__`, as `python` itself does."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from collections.abc import Sequence
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
