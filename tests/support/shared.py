"""Real traces recorded by others, which lie beside the checkout and are not part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "traces"


def shared_trace(name: str) -> Path:
    """Return the path of a trace; skips the test where it is not there."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"needs {name} in a folder shared/traces beside the checkout")
    return path
