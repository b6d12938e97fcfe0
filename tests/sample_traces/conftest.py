"""The folder of samples is a package beside the installed one, found from the checkout's root."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: pip install torch")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import torch


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
