"""Two processes that train together (gloo, on the CPU): the same paths, and a file for each."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.recording import Trace

LIBRARIES = ("lightning", "pytorch_lightning", "transformers", "accelerate")
MISSING = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

WORKER = Path(__file__).with_name("worker.py")
EXPECTED = {
    "lightning": ({"": 2, "net.0": 2, "loss": 2}, 2),
    "accelerate": ({"": 3, "0": 3, "loss": 3}, 3),
    "transformers": ({"": 3, "bert.encoder.layer.1.output.dense": 3, "classifier": 3}, 3),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that both processes wrote into."""
    if not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    folder = tmp_path_factory.mktemp("ranks")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    shared |= {"GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo"}
    processes = [
        subprocess.Popen(
            [sys.executable, WORKER],
            cwd=folder,
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()  # one waits for ever where the other has failed
    assert [process.returncode for process in processes] == [0, 0], said
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
