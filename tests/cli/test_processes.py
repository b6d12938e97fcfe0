"""Each command as a process says and leaves what it does where it is called (`support.command`)."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from ranks.traces import Spell, write_run
from support.command import call, start

from tb_hookview.cli import COMMANDS

PICTURE = """
main     notes   [ProfilerStep#1                                           ]
main     ops      [mm seq=1 ] [aten::item                 ]
main     calls      [launch corr=7] [cudaStreamSynchronize ]
gpu      kernel                     [k corr=7         ]
"""
CALLS = {
    "analyze": (["analyze", "t.json"], 0),
    "cache": (["cache"], 0),
    "check": (["check", "t.json", "--max-syncs", "0"], 1),
    "diff": (["diff", "t.json", "none.json"], 2),
    "export": (["export", "t.json", "-o", "t.pftrace", "--force"], 0),
    "history": (["history", "none"], 2),
    "ranks": (["ranks", "run", "--executor", "processes:1"], 0),
    "record": (["record", "none"], 2),
    "rules": (["rules", "sync-scalar-item"], 0),
    "sql": (["sql", "t.json", "select name from device_events"], 0),
    "whatif": (["whatif", "t.json", "--scale", "data=fast"], 2),
}
"""A call of each command, and its exit code."""
TESTED_ELSEWHERE = {
    "demo": "test_demo.py",
    "dry-run": "test_dry_run.py",
    "mcp": "../mcp/test_process.py",
    "run": "test_run.py",
    "serve": "test_command.py",
}


@pytest.mark.parametrize("command", CALLS)
def test_a_process_is_as_a_call(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid.write(tmp_path / "t.json", grid.events(PICTURE, {"launch": "cudaLaunchKernel"}))
    write_run(tmp_path / "run", [Spell(), Spell(b=9.0)])
    monkeypatch.chdir(tmp_path)
    arguments, code = CALLS[command]
    done = start(*arguments)
    assert done == call(*arguments)
    assert done.returncode == code
    assert bool(done.stdout) == (code < 2)
    assert done.stderr.count("\n") == (code == 2)


def test_there_is_a_process_of_every_command() -> None:
    assert {*CALLS, *TESTED_ELSEWHERE} == set(COMMANDS)
    folder = Path(__file__).parent
    assert all((folder / name).is_file() for name in TESTED_ELSEWHERE.values())
