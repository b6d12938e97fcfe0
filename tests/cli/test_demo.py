"""`hookview demo`, from the first step of training to the page in TensorBoard."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command import HOOKVIEW, call

pytest.importorskip("torch")


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The demo once it serves: the process, what it said until then, and the address."""
    command = ["demo", "--logdir", str(tmp_path / "runs" / "demo"), "--port", "0"]
    process = subprocess.Popen(
        [*HOOKVIEW, *command],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if found := re.match(r"TensorBoard is at (http://127\.0\.0\.1:\d+/)#hookview", line):
                break
        else:
            raise AssertionError(f"the demo ended early:\n{said}")
        yield process, said, found[1]
    finally:
        process.kill()
        process.wait()


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=300) as answer:
        return json.load(answer)


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
def test_the_demo_ends_at_a_page_of_its_run(
    demo: tuple[subprocess.Popen[str], str, str],
) -> None:
    process, said, url = demo
    plugins = get(f"{url}data/plugins_listing")
    assert "hookview" in plugins
    assert "pytorch_profiler" not in plugins
    assert "Modules by self time" in said
    assert "--verbose shows all" in said
    runs = {run["name"]: run for run in get(f"{url}data/plugin/hookview/api/runs")["runs"]}
    (worker,) = runs["demo"]["workers"]
    api = f"{url}data/plugin/hookview/api"
    report = get(f"{api}/report?run=demo&worker={worker['name']}")
    assert len(report["steps"]) == 3
    assert {"", "blocks.0.attn.qkv"} <= {module["path"] for module in report["modules"]}
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0


def test_a_port_in_use_is_reported_before_the_training(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = call("demo", "--logdir", tmp_path / "demo", "--port", port)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"hookview: port {port} cannot be used")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "demo").exists()
