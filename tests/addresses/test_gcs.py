"""Traces on a server of the protocol of Google's buckets.

Needs gcsfs and gcp-storage-emulator, which `make addresses` installs into an environment of their
own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from ranks.traces import Spell, write_run

import tb_hookview as hookview
from tb_hookview.errors import TraceError

# gcsfs asks for the kind of a bucket by gRPC, which no emulator answers: it would wait for ever
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
gcsfs = pytest.importorskip("gcsfs", reason="needs gcsfs: make addresses")
emulator = pytest.importorskip(
    "gcp_storage_emulator.server", reason="needs an emulator of Google's buckets: make addresses"
)
LONGEST_S = 120
"""What waits longer for an answer waits for ever."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    storage = pytest.importorskip("gcp_storage_emulator.storage").Storage(use_memory_fs=True)
    server = HTTPServer(("127.0.0.1", 0), partial(emulator.RequestHandler, storage))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """gcsfs on a server with one bucket."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", endpoint)
    gcsfs.GCSFileSystem.clear_instance_cache()
    files = gcsfs.GCSFileSystem(skip_instance_cache=True)
    files.mkdir("traces")
    yield files
    files.rm("traces", recursive=True)


@pytest.mark.parametrize("address", ["gs://traces/run", "gcs://traces/run/t.1.pt.trace.json.gz"])
def test_a_report_is_that_of_the_same_file_here(bucket: Any, training: Path, address: str) -> None:
    bucket.put_file(str(training), "traces/run/t.1.pt.trace.json.gz")
    far, near = hookview.analyze(address).data, hookview.analyze(training).data
    assert far.trace.path.startswith(address)
    assert (far.modules, far.syncs, far.steps) == (near.modules, near.syncs, near.steps)


def test_ranks_are_read_by_processes_of_their_own(bucket: Any, tmp_path: Path) -> None:
    here = write_run(tmp_path, [Spell(), Spell(b=9.0)])
    for path in here.iterdir():
        bucket.put_file(str(path), f"traces/run/{path.name}")
    command = [sys.executable, "-m", "tb_hookview.cli", "ranks", "--executor", "processes:2"]
    far, near = (
        json.loads(subprocess.check_output([*command, str(place), "--json"], timeout=LONGEST_S))
        for place in ("gs://traces/run", here)
    )
    assert len(far["ranks"]) == 2
    for part in ("collectives", "stragglers", "steps"):
        assert far[part] == near[part]


@pytest.mark.parametrize("address", ["gs://nowhere/run", "gs://traces/nothing"])
@pytest.mark.usefixtures("bucket")
def test_what_is_not_there_is_named(address: str) -> None:
    with pytest.raises(TraceError, match=f"{address}: no such file or folder"):
        hookview.analyze(address)
