"""Libraries that some scenarios need, imported where they are installed."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from sample_traces.scenario import UnavailableError

_IMPORT_TORCHVISION = ("lightning", "timm", "torchvision", "transformers")


def missing(names: tuple[str, ...]) -> list[str]:
    """Return those of the libraries that are not installed."""
    return [name for name in names if find_spec(name) is None]


def load(name: str) -> ModuleType:
    """Import a library or a module of it.

    Raises:
        UnavailableError: it is not installed, or does not fit what is.
    """
    library = name.partition(".")[0]
    if missing((library,)):
        raise UnavailableError(f"{library} is not installed")
    if library in _IMPORT_TORCHVISION and find_spec("torchvision"):
        _declare_operators()
    try:
        return import_module(name)
    except (ImportError, RuntimeError) as error:
        raise UnavailableError(f"{library} cannot be imported: {error}") from error


def _declare_operators() -> None:
    # A torchvision whose compiled operators do not fit this torch; the tests met it first.
    tests = str(Path(__file__).resolve().parents[1] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    import_module("support.torchvision_ops").declare()
