"""Traces on a server of the protocol of Azure's blobs.

Needs adlfs and Azurite, which `make addresses` installs into an environment of their own.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from addresses.conftest import forget
from ranks.traces import Spell, write_run

import tb_hookview as hookview
from tb_hookview.errors import TraceError

adlfs = pytest.importorskip("adlfs", reason="needs adlfs: make addresses")
AZURITE = shutil.which("azurite-blob")
pytestmark = pytest.mark.skipif(AZURITE is None, reason="needs azurite: make addresses")

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, the same everywhere."""
SAID = "AZURE_STORAGE_CONNECTION_STRING"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    command = [str(AZURITE), "--blobPort", "0", "--blobHost", "127.0.0.1", "--inMemoryPersistence"]
    process = subprocess.Popen(
        [*command, "--skipApiVersionCheck", "--disableTelemetry"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        found = (
            re.search(r"successfully listens on (http://\S+)", each) for each in process.stdout
        )
        yield next(match[1] for match in found if match)
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture
def container(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """adlfs on a server with one container."""
    monkeypatch.setenv(SAID, _said(endpoint, KEY))
    files = adlfs.AzureBlobFileSystem(skip_instance_cache=True)
    files.mkdir("traces")
    yield files
    files.rm("traces", recursive=True)


def _said(endpoint: str, key: str) -> str:
    return (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={key};"
        f"BlobEndpoint={endpoint}/{ACCOUNT};"
    )


@pytest.mark.parametrize(
    "address",
    [
        "az://traces/run",
        "abfs://traces/run/t.1.pt.trace.json.gz",
        f"abfs://traces@{ACCOUNT}.dfs.core.windows.net/run",
    ],
)
def test_a_report_is_that_of_the_same_file_here(
    container: Any, training: Path, address: str
) -> None:
    container.put_file(str(training), "traces/run/t.1.pt.trace.json.gz")
    far, near = hookview.analyze(address).data, hookview.analyze(training).data
    assert far.trace.path.startswith(address)
    assert (far.modules, far.syncs, far.steps) == (near.modules, near.syncs, near.steps)


def test_ranks_are_read_by_processes_of_their_own(container: Any, tmp_path: Path) -> None:
    here = write_run(tmp_path, [Spell(), Spell(b=9.0)])
    for path in here.iterdir():
        container.put_file(str(path), f"traces/run/{path.name}")
    command = [sys.executable, "-m", "tb_hookview.cli", "ranks", "--executor", "processes:2"]
    far, near = (
        json.loads(subprocess.check_output([*command, str(place), "--json"]))
        for place in ("az://traces/run", here)
    )
    assert len(far["ranks"]) == 2
    for part in ("collectives", "stragglers", "steps"):
        assert far[part] == near[part]


@pytest.mark.parametrize("address", ["az://nowhere/run", "az://traces/nothing"])
@pytest.mark.usefixtures("container")
def test_what_is_not_there_is_named(address: str) -> None:
    with pytest.raises(TraceError, match=f"{address}: no such file or folder"):
        hookview.analyze(address)


def test_no_rights(container: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    container.pipe_file("traces/run/t.1.pt.trace.json", b"{}")
    monkeypatch.setenv(SAID, _said(endpoint, KEY.swapcase()))
    forget()
    adlfs.AzureBlobFileSystem.clear_instance_cache()
    with pytest.raises(TraceError, match="az://traces/run: refused for lack of rights") as raised:
        hookview.analyze("az://traces/run")
    assert KEY.swapcase() not in str(raised.value)


@pytest.mark.usefixtures("container")
def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SAID)
    with pytest.raises(TraceError, match="az://traces/run: no credentials"):
        hookview.analyze("az://traces/run")
