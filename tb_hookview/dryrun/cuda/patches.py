"""Attributes that are replaced for the time of a dry run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_MISSING = object()


class Patches:
    """Replaces attributes, and puts the old ones back in reverse order."""

    def __init__(self) -> None:
        self._saved: list[tuple[Any, str, Any]] = []
        self._callbacks: list[Callable[[], object]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace one attribute."""
        self._saved.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def set_all(self, owner: Any, values: Mapping[str, Any]) -> None:
        """Replace some attributes, those too that are not there."""
        for name, value in values.items():
            self.set(owner, name, value)

    def set_known(self, owner: Any, values: Mapping[str, Any]) -> None:
        """Replace those attributes that are there."""
        self.set_all(owner, {n: v for n, v in values.items() if hasattr(owner, n)})

    def on_undo(self, callback: Callable[[], object]) -> None:
        """Call a function when everything is put back."""
        self._callbacks.append(callback)

    def undo(self) -> None:
        """Put everything back."""
        while self._saved:
            owner, name, value = self._saved.pop()
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        while self._callbacks:
            self._callbacks.pop()()
