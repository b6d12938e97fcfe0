from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from shared_traces import shared_trace

from tb_hookview.ranks import executors
from tb_hookview.server import Server, create_app

NEWER = "host_1.1700000000456.pt.trace.json.gz"
OLDER = "host_1.1700000000123.pt.trace.json.gz"


@pytest.fixture(scope="session")
def training() -> Path:
    """The smallest whole training step: two steps, two waits in the forward pass."""
    return shared_trace("hta_mi250_minitoy_training.json.gz")


def write_runs(folder: Path, training: Path) -> Path:
    """Two runs; of the first a training trace and an older one without a device."""
    for name, source in (
        (f"rank2/{NEWER}", training),
        (f"rank2/{OLDER}", shared_trace("hta_cpu_only.json.gz")),
        ("rank10/host_2.1700000000123.pt.trace.json.gz", training),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / name)
    return folder


@pytest.fixture
def logdir(tmp_path: Path, training: Path) -> Path:
    return write_runs(tmp_path / "runs", training)


@pytest.fixture
def newest(logdir: Path) -> Path:
    """The trace that `?run=rank2&worker=host_1` names."""
    return logdir / "rank2" / NEWER


@pytest.fixture
def client(logdir: Path) -> FlaskClient:
    return create_app(logdir).test_client()


@pytest.fixture(scope="session")
def read_once(tmp_path_factory: pytest.TempPathFactory, training: Path) -> FlaskClient:
    """As `client`, for tests that change none of the files: it has read them already."""
    return create_app(write_runs(tmp_path_factory.mktemp("served"), training)).test_client()


@pytest.fixture
def server(logdir: Path) -> Iterator[Server]:
    """The application on a port of its own, answering."""
    served = Server(logdir)
    thread = threading.Thread(target=served.run)
    thread.start()
    yield served
    served.close()
    thread.join()


@pytest.fixture(scope="module")
def ranks_on_threads() -> Iterator[None]:
    """The traces of a run are read in this process; tests/ranks reads them in several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors, "Workers", lambda most, _preload: ThreadPoolExecutor(most))
        yield
