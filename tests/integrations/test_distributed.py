"""Two processes train together (gloo, CPU): same paths, a file for each."""

from __future__ import annotations

import importlib.util
import socket
from pathlib import Path

import pytest
from support.ranks import run_forked_ranks
from support.recording import Trace

LIBRARIES = ("lightning", "pytorch_lightning", "transformers", "accelerate")
MISSING = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"needs {', '.join(MISSING)}: make setup, or pip install {' '.join(MISSING)}",
    ),
]

WORKER = Path(__file__).with_name("worker.py")
EXPECTED = {
    "lightning": ({"": 2, "net.0": 2, "loss": 2}, 2),
    "accelerate": ({"": 3, "0": 3, "loss": 3}, 3),
    "transformers": ({"": 3, "bert.encoder.layer.1.output.dense": 3, "classifier": 3}, 3),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that both processes wrote into."""
    folder = tmp_path_factory.mktemp("ranks")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    run_forked_ranks([WORKER], folder, size=2, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    return folder / "runs"


@pytest.mark.parametrize("library", EXPECTED)
def test_every_rank_records_the_models_own_paths(library, runs):
    marks, steps = EXPECTED[library]
    paths = sorted((runs / library).iterdir())
    assert [path.name[:6] for path in paths] == ["rank0_", "rank1_"]
    for rank, trace in enumerate(map(Trace, paths)):
        assert (trace.manifest["rank"], trace.manifest["world_size"]) == (rank, 2)
        assert sum(span.name.startswith("ProfilerStep") for span in trace.spans) == steps
        calls = trace.paths("forward")
        assert {path: calls[path] for path in marks} == marks
        assert not any("module" in path.split(".") for path in calls)
