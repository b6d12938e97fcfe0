"""The command as a whole: exit codes, one-line errors, what it loads."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from shared_traces import not_a_trace
from support.command import call

import tb_hookview
from tb_hookview.cli import main

HEAVY = "{'numpy', 'rich', 'flask', 'tensorboard', 'torch', 'msgspec'}"


def missing(folder: Path) -> Path:
    return folder / "missing.json"


def no_traces(folder: Path) -> Path:
    (folder / "logs").mkdir()
    (folder / "logs" / "events.out.tfevents.1").write_bytes(b"\0" * 100)
    return folder / "logs"


def written(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


BAD_INPUT = {
    "missing file": (missing, "no such file"),
    "folder without traces": (no_traces, "no traces"),
    "empty file": (written("empty.json", b""), "empty"),
    "empty gzip": (written("empty.json.gz", b""), "empty"),
    "random bytes": (written("random.json", bytes(range(256)) * 20), "not JSON"),
    "random gzip": (written("random.json.gz", bytes(range(256)) * 20), "random.json.gz"),
    "pdf": (written("paper.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\n"), "not JSON"),
    "json of another kind": (written("package.json", b'{"name": "page"}'), "traceEvents"),
    "json that stops": (written("cut.json", b'{"traceEvents": [{"ph": "X", "na'), "cut.json"),
    "a name of two lines": (written("a\nb\x1b[31m.json", b""), r"a\nb\x1b[31m.json"),
    "execution trace": (
        lambda _: not_a_trace("hta_execution_trace_not_chrome"),
        "traceEvents",
    ),
    "execution details": (
        lambda _: not_a_trace("tracelens_execution_details_not_a_trace"),
        "not a PyTorch trace",
    ),
}


@pytest.mark.parametrize(("make", "says"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_exit_2(
    tmp_path: Path, make: Callable[[Path], Path], says: str
) -> None:
    path = make(tmp_path)
    done = call("analyze", "--verbose", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hookview: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert not path.name.isprintable() or path.name in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["analyze", "--json"], ["check", "--max-syncs", "0"], ["diff", "other.json"], ["serve"]],
)
def test_every_command_refuses_bad_input_alike(tmp_path: Path, arguments: list[str]) -> None:
    done = call(*arguments, missing(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "no such file" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze"],
        ["frobnicate"],
        ["analyze", "--top", "0", "x.json"],
        ["check", "x.json"],
        ["check", "x.json", "--max-syncs", "few"],
        ["diff", "x.json"],
        ["serve", "nowhere", "--port", "70000"],
        ["serve", "nowhere"],
    ],
)
def test_a_call_that_makes_no_sense_is_exit_2(arguments: list[str]) -> None:
    done = call(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_help_and_version() -> None:
    done = call("--help")
    assert done.returncode == 0
    for command in ("analyze", "diff", "check", "serve", "demo"):
        assert command in done.stdout
        assert call(command, "--help").returncode == 0
    assert call("--version").stdout.strip() == f"hookview {tb_hookview.__version__}"


def test_every_command_is_listed_and_has_its_module() -> None:
    folder = Path(tb_hookview.__file__).parent / "cli"
    modules = {
        path.stem
        for path in folder.glob("*.py")
        if re.search(rf"^def {path.stem}\(", path.read_text(), re.MULTILINE)
    }
    listed = main.list_commands(click.Context(main))
    assert {name.replace("-", "_") for name in listed} == modules
    for name in listed:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert command.name == name
    assert main.get_command(click.Context(main), "script") is None


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from tb_hookview.cli import main; main(['--help'], standalone_mode=False);"
        f"print('loaded:', *sorted({HEAVY} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_the_viewer_never_loads_torch(training: Path) -> None:
    program = (
        "import sys; from tb_hookview.cli import main;"
        f"main(['analyze', {str(training)!r}], standalone_mode=False);"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.usefixtures("ctrl_c")
def test_serve_says_where_and_stops_quietly(training: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tb_hookview.cli", "serve", str(training)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        url = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        root, _, view = url.partition("#")
        assert view == "/summary"
        with urllib.request.urlopen(root + "api/runs", timeout=300) as answer:
            assert training.name in answer.read().decode()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert (process.returncode, errors) == (0, "")
