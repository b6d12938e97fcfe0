"""Fixtures: a cache of a test's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_hookview.cache import Cache, opened


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test's own, which the environment names; it is not there yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("HOOKVIEW_CACHE", str(folder))
    monkeypatch.delenv("HOOKVIEW_CACHE_LIMIT", raising=False)
    return folder


@pytest.fixture
def cache(folder: Path) -> Cache:
    cache = opened()
    assert cache is not None
    return cache


@pytest.fixture
def written() -> Callable[[], None]:
    return wait_until_written


def wait_until_written() -> None:
    """Wait until what is stored in the background is stored, by jobs that jobs start, too."""
    while jobs := [each for each in threading.enumerate() if each.name == "hookview-cache"]:
        for thread in jobs:
            thread.join()
