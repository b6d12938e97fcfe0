"""Every command, function and page on traces in fsspec's file system in memory."""

from __future__ import annotations

import gzip
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from addresses.conftest import forget
from click.testing import CliRunner, Result
from ranks.traces import Spell, write_run

import tb_hookview as hookview
from tb_hookview.cache import Cache
from tb_hookview.cli import main
from tb_hookview.errors import HookviewError, NotFoundError, TraceError
from tb_hookview.plugin import HookviewPlugin
from tb_hookview.report.result import Report
from tb_hookview.server import create_app
from tb_hookview.trace import find_runs, trace_file
from tb_hookview.trace.source.runs import has_trace, list_runs

RUN = "memory://logs/run"
GZIP, PLAIN = f"{RUN}/one.1.pt.trace.json.gz", f"{RUN}/two.2.pt.trace.json"


@pytest.fixture
def run(memory: Any, training: Path) -> Any:
    """A run of two workers: one trace is compressed, one is plain."""
    content = training.read_bytes()
    memory.pipe(GZIP, content)
    memory.pipe(PLAIN, gzip.decompress(content))
    return memory


def called(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def content(report: Report) -> Any:
    """A report without what names its file."""
    trace = msgspec.structs.replace(report.data.trace, path="", warnings=[])
    return msgspec.structs.replace(report.data, trace=trace)


@pytest.mark.parametrize("address", [GZIP, PLAIN])
def test_a_report_is_that_of_the_same_file_on_this_machine(
    run: Any, training: Path, address: str
) -> None:
    report = hookview.analyze(address)
    assert report.data.trace.path == address
    assert content(report) == content(hookview.analyze(training))


def test_of_a_folder_a_worker_is_chosen(run: Any) -> None:
    report = hookview.analyze(f"{RUN}/", worker="one")
    assert report.data.trace.path == GZIP
    assert [w.count for w in report.data.trace.warnings if w.code == "other-traces"] == [1]
    with pytest.raises(NotFoundError, match="no worker 'three'; there are one, two"):
        hookview.analyze(RUN, worker="three")
    with pytest.raises(NotFoundError, match="no worker 'two'; the file is 'one'"):
        hookview.analyze(GZIP, worker="two")


def test_commands_that_print(run: Any, training: Path) -> None:
    assert json.loads(called("analyze", GZIP, "--json").stdout)["trace"]["path"] == GZIP
    assert f"{RUN}/two" in called("analyze", RUN).stdout
    assert called("diff", GZIP, PLAIN).exit_code == 0
    assert called("diff", GZIP, str(training), "--json").exit_code == 0
    assert called("check", PLAIN, "--max-syncs", "1000").exit_code == 0
    assert called("check", PLAIN, "--max-syncs", "0").exit_code == 1
    assert json.loads(called("whatif", GZIP, "--json").stdout)["step_us"] > 0


def test_tables_of_a_trace_are_exported_here(run: Any, tmp_path: Path) -> None:
    out = tmp_path / "syncs.csv"
    done = called("export", GZIP, "--table", "syncs", "-o", str(out))
    assert done.stdout.strip() == f"{GZIP} -> {out}"
    assert len(out.read_text().splitlines()) > 1


def test_a_run_of_ranks(memory: Any, tmp_path: Path) -> None:
    here = write_run(tmp_path, [Spell(), Spell(b=9.0), Spell()])
    for path in here.iterdir():
        memory.pipe(f"{RUN}/{path.name}", path.read_bytes())
    memory.pipe(f"{RUN}/rank3.1.pt.trace.json", b"no trace")
    with ThreadPoolExecutor(1) as executor:
        far = hookview.analyze_run(RUN, executor=executor).data
        near = hookview.analyze_run(here, executor=executor).data
    assert [row.path for row in far.unreadable] == [f"{RUN}/rank3.1.pt.trace.json"]
    assert (far.collectives, far.stragglers) == (near.collectives, near.stragglers)
    assert [rank.path for rank in far.ranks] == [f"{RUN}/{Path(r.path).name}" for r in near.ranks]


def test_the_server_lists_and_reports(run: Any) -> None:
    client = create_app("memory://logs").test_client()
    listed = client.get("/api/runs").json
    assert listed["logdir"] == "memory://logs"
    assert [worker["name"] for worker in listed["runs"][0]["workers"]] == ["one", "two"]
    query = {"run": "run", "worker": "one"}
    assert client.get("/api/report", query_string=query).json["trace"]["path"] == GZIP
    assert client.get("/api/progress", query_string={**query, "trace": "1"}).status_code == 200


def test_the_server_notices_new_and_lost_traces(run: Any) -> None:
    client = create_app("memory://logs").test_client()
    client.get("/api/runs")
    run.pipe("memory://logs/later/w.3.pt.trace.json", run.cat(PLAIN))
    query = {"run": "later", "worker": "w", "trace": "3"}
    assert client.get("/api/report", query_string=query).status_code == 200
    run.rm("memory://logs/later/w.3.pt.trace.json")
    forget()
    assert client.get("/api/report", query_string=query).status_code == 404


def test_names_of_objects_lead_nowhere_else(run: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"traceEvents": [{"ph": "X", "name": "secret", "ts": 1, "dur": 1}]}')
    outside = run.cat(PLAIN)
    run.pipe("memory://outside.json.gz", outside)
    hostile = [
        "/logs/run/../../outside.json.gz",
        "/logs/run/..%2f..%2foutside.json.gz",
        "/logs/run/..\\outside.json.gz",
        f"/logs/run/x::file://{secret}",
        f"/logs/run/file://{secret}",
        "/logs/run/simplecache::memory://outside.json.gz",
        "/logs/run//outside.json.gz",
        "/logs/run/\0.json.gz",
    ]
    for name in hostile:
        run.store[name] = run.store["/outside.json.gz"]
    run.store["/logs/.hidden/x.json.gz"] = run.store["/outside.json.gz"]
    listing = list_runs("memory://logs")
    assert [run.name for run in listing.runs] == ["run"]
    assert [worker.name for worker in listing.runs[0].workers] == ["one", "two"]
    assert listing.links_left_out == len(hostile)
    client = create_app("memory://logs").test_client()
    for run_name in ("../", "/", "run/..", f"file://{tmp_path}", "run/x::file:/", ".hidden"):
        query = {"run": run_name, "worker": "outside", "trace": f"{secret}"}
        assert client.get("/api/report", query_string=query).status_code == 404


def test_cached_results_need_no_fetching(run: Any, cache: Cache, written: Any) -> None:
    first = hookview.analyze(GZIP)
    written()
    run.store["/logs/run/one.1.pt.trace.json.gz"].read = None  # so that it cannot be read
    assert hookview.analyze(GZIP).data == first.data


def test_a_file_written_again_is_read_again(run: Any, cache: Cache, written: Any) -> None:
    hookview.analyze(PLAIN)
    written()
    run.pipe(PLAIN, b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}')
    forget()
    assert hookview.analyze(PLAIN).data.trace.events == 1


def test_traces_are_cached_ahead(run: Any, cache: Cache) -> None:
    from tb_hookview.cli.filling import fill_one

    assert fill_one(trace_file(GZIP)).added
    assert not fill_one(trace_file(GZIP)).added
    assert fill_one(trace_file(f"{RUN}/none.json")).problem is not None


def test_nothing_secret_is_told(memory: Any) -> None:
    address = "memory://user:5ecret@logs/run/t.json.gz?sig=5ecret"
    file = trace_file(address)
    assert "5ecret" not in f"{file!r} {file} {file.address} {file.name}"
    assert pickle.loads(pickle.dumps(file)) == file
    client = create_app(address).test_client()
    assert "5ecret" not in client.get("/api/runs").text
    for call in (hookview.analyze, hookview.analyze_run, find_runs):
        with pytest.raises(HookviewError) as raised:
            call(address)
        assert "5ecret" not in str(raised.value)
        assert raised.value.__cause__ is None
    assert "5ecret" not in called("analyze", address).output


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("memory://nowhere", "no such file or folder"),
        (f"{RUN}/none.json", "no such file or folder"),
        ("simplecache::s3://bucket/run", "leads through others"),
        ("file:///etc/hosts", "a file of this machine; leave out file://"),
        ("nothing://bucket/run", "of the kind nothing:// are unknown"),
        ("memory://logs", "no traces"),
    ],
)
def test_what_cannot_be_read_is_one_line(memory: Any, address: str, reason: str) -> None:
    memory.pipe("/logs/readme.txt", b"nothing")
    done = called("analyze", address)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("hookview: ")
    assert reason in line


@pytest.mark.parametrize(
    ("address", "extra"), [("s3://b/run", "s3"), ("gs://b/run", "gcs"), ("abfs://c@a/run", "azure")]
)
def test_a_missing_package_is_named(
    address: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("s3fs", "gcsfs", "adlfs"):
        monkeypatch.setitem(__import__("sys").modules, package, None)
    registry = pytest.importorskip("fsspec.registry", reason="needs fsspec: pip install fsspec")
    # as if no test before had loaded it
    monkeypatch.delitem(registry._registry, address.partition(":")[0], raising=False)
    with pytest.raises(TraceError, match=rf"pip install 'tb-hookview\[{extra}\]'"):
        hookview.analyze(address)


def test_the_tab_of_tensorboard(run: Any) -> None:
    from tensorboard.plugins import base_plugin

    plugin = HookviewPlugin(base_plugin.TBContext(logdir="memory://logs"))
    plugin.is_active()
    assert plugin._looking is not None
    plugin._looking.join()
    assert plugin.is_active()
    assert has_trace("memory://logs")
    assert not has_trace("memory://nothing")


def test_an_address_costs_nothing_until_it_is_opened() -> None:
    import subprocess
    import sys

    program = (
        "import sys, tb_hookview, tb_hookview.cli, tb_hookview.loading, tb_hookview.plugin;"
        "tb_hookview.loading.trace_file('a.json'); print('fsspec' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False"
