"""The plugin as TensorBoard sees it, and in a real TensorBoard beside torch-tb-profiler."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from shared_traces import shared_trace
from support.tensorboard_process import TensorBoard, TensorBoardHere, running
from tensorboard.plugins import base_plugin

from tb_hookview.plugin import ACTIVE_FOR_S, HookviewPlugin
from tb_hookview.server.app import STATIC

TRACE = "host.1700000000123.pt.trace.json.gz"


def plugin(logdir: Path | str | None) -> HookviewPlugin:
    text = None if logdir is None else str(logdir)
    return HookviewPlugin(base_plugin.TBContext(logdir=text))


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    program = (
        "import sys; from tensorboard.plugins.base_plugin import TBContext;"
        "from tb_hookview.plugin import HookviewPlugin;"
        "plugin = HookviewPlugin(TBContext(logdir='runs')); plugin.get_plugin_apps();"
        "plugin.frontend_metadata();"
        "print({'flask', 'numpy', 'torch', 'msgspec'} & set(sys.modules) or 'light')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "light"


def test_the_script_is_among_the_routes() -> None:
    made = plugin(None)
    assert made.frontend_metadata().es_module_path in made.get_plugin_apps()


@pytest.mark.parametrize("logdir", [None, "", "gs://bucket/runs", "nowhere/at/all"])
def test_inactive_without_a_log_directory_here(logdir: str | None) -> None:
    assert plugin(logdir).is_active() is False


def test_active_where_there_is_a_trace(tmp_path: Path) -> None:
    assert plugin(tmp_path).is_active() is False
    hidden = tmp_path / ".cache" / "a"
    hidden.mkdir(parents=True)
    (hidden / TRACE).touch()
    (tmp_path / "events.out.tfevents.1").touch()
    assert plugin(tmp_path).is_active() is False
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / TRACE).touch()
    assert plugin(tmp_path).is_active() is True


def test_the_file_system_is_not_asked_every_time(tmp_path: Path) -> None:
    now = 100.0
    made = HookviewPlugin(base_plugin.TBContext(logdir=str(tmp_path)), clock=lambda: now)
    assert made.is_active() is False
    (tmp_path / TRACE).touch()
    now += ACTIVE_FOR_S / 2
    assert made.is_active() is False
    now += ACTIVE_FOR_S / 2
    assert made.is_active() is True


def test_the_application_is_made_before_anybody_asks(tmp_path: Path) -> None:
    (tmp_path / TRACE).touch()
    made = plugin(tmp_path)
    made.get_plugin_apps()
    for of in ("hookview-look", "hookview-start"):
        for thread in threading.enumerate():
            if thread.name == of:
                thread.join()
    assert "_app" in vars(made)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = shared_trace("hta_mi250_minitoy_training.json.gz")
    folder = tmp_path_factory.mktemp("logs")
    (folder / "vit").mkdir()
    shutil.copy(source, folder / "vit" / TRACE)
    return folder


@pytest.fixture(scope="module")
def process(logdir: Path) -> Iterator[TensorBoard]:
    with running(Path(sys.executable), "--logdir", str(logdir)) as started:
        yield started


@pytest.fixture(scope="module", params=["process", "here, below a prefix"])
def tensorboard(request: pytest.FixtureRequest, logdir: Path) -> TensorBoard:
    if request.param == "process":
        started: TensorBoard = request.getfixturevalue("process")
        return started
    return TensorBoardHere("--logdir", str(logdir), path_prefix="/some/prefix")


def test_both_tabs_are_listed(process: TensorBoard) -> None:
    pytest.importorskip(
        "torch_tb_profiler", reason="needs torch-tb-profiler: pip install torch-tb-profiler"
    )
    listing = process.json("data/plugins_listing")
    assert listing["hookview"]["enabled"] is True
    assert listing["hookview"]["tab_name"] == "HOOKVIEW"
    assert listing["pytorch_profiler"]["loading_mechanism"]["type"] == "IFRAME"


def test_the_script_that_is_listed_is_ours(tensorboard: TensorBoard) -> None:
    mechanism = tensorboard.json("data/plugins_listing")["hookview"]["loading_mechanism"]
    assert mechanism["type"] == "IFRAME"
    script = tensorboard.get(mechanism["module_path"])
    if not (STATIC / "index.js").is_file():
        assert b"make frontend" in script
    else:
        assert script == (STATIC / "index.js").read_bytes()
    entry = tensorboard.get("data/plugin_entry.html?name=hookview")
    assert b'<base href="plugin/hookview/" />' in entry
    assert b'import("./index.js")' in entry


def test_the_interface_answers(tensorboard: TensorBoard, logdir: Path) -> None:
    answer = tensorboard.json("data/plugin/hookview/api/runs")
    assert answer["logdir"] == str(logdir)
    assert [run["name"] for run in answer["runs"]] == ["vit"]
    report = tensorboard.json("data/plugin/hookview/api/report?run=vit&worker=host")
    assert report["trace"]["events"] == 220
    assert [step["name"] for step in report["steps"]] == ["ProfilerStep#1", "ProfilerStep#2"]


def test_logdir_spec_leaves_the_tab_inactive(logdir: Path) -> None:
    board = TensorBoardHere("--logdir_spec", f"vit:{logdir}")
    assert board.json("data/plugins_listing")["hookview"]["enabled"] is False
    assert board.json("data/plugin/hookview/api/runs")["runs"] == []
