from __future__ import annotations

from pathlib import Path

import pytest
from shared_traces import shared_trace


@pytest.fixture(scope="session")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def analyzed_once(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands print reports; that a trace is analyzed anew for each is no subject here."""
    monkeypatch.setenv("HOOKVIEW_CACHE", str(cached))


@pytest.fixture
def training() -> Path:
    """The smallest whole training step: two steps, two waits in the forward pass."""
    return shared_trace("hta_mi250_minitoy_training.json.gz")


@pytest.fixture
def sampled() -> Path:
    """A part of a training, of whose backward a third cannot be attributed."""
    return shared_trace("hta_sampled_rank-0.json.gz")


@pytest.fixture
def annotated() -> Path:
    """Six training steps on a V100 whose annotations serve as modules; 60 waits."""
    return shared_trace("hta_v100_training.json.gz")
