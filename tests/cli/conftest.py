from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from shared_traces import shared_trace

Hookview = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def hookview() -> Hookview:
    """The command as a user runs it, its output piped."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tb_hookview.cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


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
