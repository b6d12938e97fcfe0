"""Traces on a server of the S3 protocol, and what goes wrong between here and there.

Needs s3fs and moto, which `make addresses` installs into an environment of their own.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from addresses.conftest import forget
from ranks.traces import Spell, write_run
from support.cutting_proxy import CuttingProxy
from support.tensorboard_process import running

import tb_hookview as hookview
from tb_hookview.cache import Cache
from tb_hookview.errors import TraceError
from tb_hookview.server import create_app
from tb_hookview.trace import read_trace, trace_file
from tb_hookview.trace.source import remote
from tb_hookview.trace.source.runs import find_runs

pytest.importorskip("s3fs", reason="needs s3fs: make addresses")
moto = pytest.importorskip("moto.server", reason="needs moto: make addresses")

BUCKET = "s3://traces"


class Server:
    """A server on this machine, with one bucket."""

    def __init__(self, started: Any) -> None:
        import boto3

        self.place: tuple[str, int] = started.get_host_and_port()
        self.url = "http://{}:{}".format(*self.place)
        self.client = boto3.client("s3", endpoint_url=self.url)
        self.client.create_bucket(Bucket="traces")

    def put(self, path: Path, key: str) -> str:
        self.client.upload_file(str(path), "traces", key)
        return f"{BUCKET}/{key}"

    def refuse(self) -> None:
        """From now on nobody has a right to anything."""
        self.ask("reset-auth", b"0")

    def ask(self, what: str, content: bytes) -> None:
        """Send moto itself a request."""
        text = {"Content-Type": "text/plain"}
        urlopen(Request(f"{self.url}/moto-api/{what}", content, text)).close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    started = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    made = Server(started)
    monkeypatch.setenv("AWS_ENDPOINT_URL", made.url)
    yield made
    made.ask("reset-auth", b"1000000000")
    made.ask("reset", b"")
    started.stop()


@pytest.mark.parametrize("compressed", [True, False], ids=["gzip", "plain"])
def test_a_report_is_that_of_the_same_file_here(
    server: Server, training: Path, tmp_path: Path, *, compressed: bool
) -> None:
    here = tmp_path / ("t.pt.trace.json.gz" if compressed else "t.pt.trace.json")
    text = training.read_bytes()
    here.write_bytes(text if compressed else gzip.decompress(text))
    address = server.put(here, f"run/{here.name}")
    far, near = hookview.analyze(address).data, hookview.analyze(here).data
    assert (far.trace.path, near.trace.path) == (address, str(here))
    assert (far.modules, far.syncs, far.steps) == (near.modules, near.syncs, near.steps)


def test_ranks_are_read_by_processes_of_their_own(server: Server, tmp_path: Path) -> None:
    here = write_run(tmp_path, [Spell(), Spell(b=9.0)])
    for path in here.iterdir():
        server.put(path, f"run/{path.name}")
    command = [sys.executable, "-m", "tb_hookview.cli", "ranks", "--executor", "processes:2"]
    far, near = (
        json.loads(subprocess.check_output([*command, str(place), "--json"]))
        for place in (f"{BUCKET}/run", here)
    )
    assert len(far["ranks"]) == 2
    assert [far[part] for part in ("collectives", "stragglers", "steps")] == [
        near[part] for part in ("collectives", "stragglers", "steps")
    ]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("s3://nowhere/run", "no such bucket"),
        ("s3://traces/nothing", "no such file or folder"),
        ("s3://traces/run/none.json", "no such file or folder"),
        ("s3://5ecret:5ecret@traces/run", "cannot be reached"),
    ],
)
def test_what_is_not_there_is_named(server: Server, address: str, reason: str) -> None:
    with pytest.raises(TraceError, match=reason) as raised:
        hookview.analyze(address)
    assert "5ecret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_rights(server: Server, training: Path) -> None:
    address = server.put(training, "run/t.pt.trace.json.gz")
    server.refuse()
    for refused in (address, f"{BUCKET}/run"):
        with pytest.raises(TraceError, match=f"{refused}: refused for lack of rights"):
            hookview.analyze(refused)
    client = create_app(f"{BUCKET}/run").test_client()
    answered = client.get("/api/runs")
    assert answered.status_code >= 400
    assert "refused for lack of rights" in answered.text


def test_no_credentials(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    with pytest.raises(TraceError, match="no credentials"):
        hookview.analyze(f"{BUCKET}/run")


def test_a_connection_that_breaks_off(
    server: Server,
    cache: Cache,
    training: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "BLOCK", 1 << 14)
    here = tmp_path / "t.json"
    here.write_bytes(gzip.decompress(training.read_bytes()) + b" " * (1 << 17))
    address = server.put(here, "run/t.pt.trace.json")
    with CuttingProxy(server.place, budget=1 << 16) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        with pytest.raises(TraceError, match="the connection failed or broke off"):
            read_trace(trace_file(address))
        assert len(list(cache.folder.glob("*.block"))) >= 2, "what was read is kept"
        forget()
        proxy.passed, proxy.budget = 0, None
        assert len(read_trace(trace_file(address)).events) == len(read_trace(here).events)
        assert proxy.passed < here.stat().st_size, "it is not read again"


def test_a_large_file_is_fetched_once_for_all_processes(
    server: Server,
    cache: Cache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    event = '{"ph": "X", "name": "aten::mm", "pid": 1, "tid": 1, "ts": %d, "dur": 1, "args": {}}'
    here = tmp_path / "large.json.gz"
    with gzip.open(here, "wb", 1) as file:
        events = ",\n".join(event % (1000 + 2 * number) for number in range(800_000))
        file.write(f'{{"traceEvents": [{events}]}}'.encode())
    address = server.put(here, "run/large.1.pt.trace.json.gz")
    monkeypatch.setenv("HOOKVIEW_PROCESSES", "2")
    with CuttingProxy(server.place) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        report = hookview.analyze(address)
        assert report.data.trace.events == 800_000
        assert proxy.passed < 1.5 * here.stat().st_size


def test_a_file_that_is_replaced_while_it_is_read(
    server: Server, training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "BLOCK", 1 << 14)
    here = tmp_path / "t.json"
    here.write_bytes(gzip.decompress(training.read_bytes()))
    address = server.put(here, "run/t.pt.trace.json")
    with trace_file(address).open() as file:
        file.read(10)
        here.write_bytes(here.read_bytes().replace(b"aten::", b"ATEN::"))
        server.put(here, "run/t.pt.trace.json")
        with pytest.raises(TraceError, match="was written to while it was read"):
            file.read()


def test_recording_into_a_bucket(server: Server) -> None:
    torch = pytest.importorskip("torch")
    model = hookview.wrap(torch.nn.Linear(2, 2))
    with hookview.profile(f"{BUCKET}/run") as prof:
        model(torch.ones(1, 2)).sum().backward()
    (address,) = prof.written
    (run,) = find_runs(f"{BUCKET}/run")
    assert [worker.traces[0].file.address for worker in run.workers] == [address]
    assert "" in [module.path for module in hookview.analyze(f"{BUCKET}/run").modules]


def test_what_cannot_be_uploaded_is_kept(server: Server, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from tb_hookview.recorder import faults

    faults._warned.clear()
    model = hookview.wrap(torch.nn.Linear(2, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with hookview.profile("s3://nowhere/run") as prof:
            model(torch.ones(1, 2)).sum().backward()
    (kept,) = prof.written
    assert "" in [m.path for m in hookview.analyze(kept).modules]
    (message,) = [str(w.message) for w in caught if "uploaded" in str(w.message)]
    assert "no such bucket" in message
    assert str(kept) in message
    shutil.rmtree(kept.parent)


def test_tensorboard_on_a_bucket(server: Server, training: Path) -> None:
    server.put(training, "logs/run/w.1.pt.trace.json.gz")
    with running(Path(sys.executable), "--logdir", f"{BUCKET}/logs") as board:
        listed = board.json("data/plugin/hookview/api/runs")
        assert [run["name"] for run in listed["runs"]] == ["run"]
        report = board.json("data/plugin/hookview/api/report?run=run&worker=w")
        assert report["trace"]["path"] == f"{BUCKET}/logs/run/w.1.pt.trace.json.gz"
