"""Real traces recorded by others; they lie beside the checkout and are not part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "traces"
NOT_TRACES = ("hta_execution_trace_not_chrome", "tracelens_execution_details_not_a_trace")


def _is_trace(path: Path) -> bool:
    return not path.name.startswith(NOT_TRACES)


def all_traces() -> list[Path]:
    """Every trace of the folder, smallest first; empty where the folder is absent."""
    found = [*FOLDER.rglob("*.json"), *FOLDER.rglob("*.json.gz")] if FOLDER.is_dir() else []
    return sorted(filter(_is_trace, found), key=lambda path: path.stat().st_size)


def small_traces() -> list[Path]:
    """Those that a slow, obvious reading gets through quickly; every era is among them."""
    return [path for path in all_traces() if path.stat().st_size < 1_200_000]


def shared_trace(name: str) -> Path:
    """One trace by the beginning of its name; skips the test where it is absent."""
    found = [path for path in all_traces() if path.relative_to(FOLDER).as_posix().startswith(name)]
    if not found:
        pytest.skip(f"no ../shared/traces/{name}* beside the checkout")
    return found[0]


def not_a_trace(name: str) -> Path:
    """One of the JSON files there that are no traces."""
    found = list(FOLDER.glob(f"{name}*")) if FOLDER.is_dir() else []
    if not found:
        pytest.skip(f"no ../shared/traces/{name}* beside the checkout")
    return found[0]
