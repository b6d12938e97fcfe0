"""A fixture: traces of many ranks are read in this process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tb_hookview.ranks import executors


@pytest.fixture
def ranks_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that are not about the processes that `analyze_run` starts of itself."""
    monkeypatch.setattr(executors, "Workers", lambda *_: ThreadPoolExecutor(1))
