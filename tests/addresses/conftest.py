from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shared_traces import shared_trace
from support.caching import cache, folder, written

from tb_hookview.addresses import store
from tb_hookview.trace.source import remote

__all__ = ["cache", "folder", "forgotten", "memory", "training", "written"]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Neither connections nor states of an earlier test's store."""
    forget()
    yield
    forget()


def forget() -> None:
    store._file_system.cache_clear()
    remote._recent_state.cache_clear()


@pytest.fixture
def training() -> Path:
    return shared_trace("hta_mi250_minitoy_training.json.gz")


@pytest.fixture
def memory(training: Path) -> Iterator[Any]:
    """fsspec's file system in memory, empty."""
    fsspec = pytest.importorskip("fsspec", reason="needs fsspec: pip install fsspec")
    files = fsspec.filesystem("memory")
    _empty(files)
    yield files
    _empty(files)


def _empty(files: Any) -> None:
    files.store.clear()
    files.pseudo_dirs[:] = [""]
