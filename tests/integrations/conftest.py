"""After every test nothing is wrapped or recording. Also runs the code of the docs."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")

from integrations import documented  # noqa: E402

from tb_hookview.integrations import recording  # noqa: E402
from tb_hookview.recorder import faults, roots, session  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_left_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(faults, "_warned", set())
    monkeypatch.chdir(tmp_path)  # the libraries leave folders of their own
    torch.manual_seed(0)
    gc.freeze()  # the libraries collect garbage as well, and are large themselves
    with mock.patch.dict(os.environ):  # where they note what they found out about the machine
        yield
    gc.collect()
    gc.unfreeze()
    assert recording._running is None
    assert roots.alive() == []
    assert session.current_manifest() == ""
    assert not torch.autograd._profiler_enabled()
    assert not faults._warned


@pytest.fixture
def run_documented() -> Callable[..., dict[str, Any]]:
    """Run the code under a heading of the page with these names; return all."""
    return documented.run
