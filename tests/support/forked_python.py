"""Runs Python programs as forks of a process that has done their imports.

Imports are most of what a short program with torch costs. What `run_python` runs is
`__main__` of a process of its own with the environment, folder and streams that it was given, and
ends as interpreters end. What was imported for it is frozen (`gc.freeze`). Not for tests of
what an import does.

    python forked_python.py MODULE...      # what `Forks` starts: imports, then answers requests
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

LIMIT_S = 300
TORCH = ("torch", "torch._inductor")
"""What the profiler of torch imports when it starts."""
COMPILER = (*TORCH, "torch._inductor.compile_fx")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""For what is imported, and so for every program."""

Done = subprocess.CompletedProcess


class Program(NamedTuple):
    """One process: Python's arguments (`-c CODE ...` or `FILE ...`) and what is around it."""

    arguments: Sequence[str | Path]
    cwd: Path | None = None
    environment: Mapping[str, str | None] = {}
    """Variables that differ from this process's; None: without."""
    given: bytes = b""
    """Standard input."""


def run_python(*arguments: str | Path, imported: Sequence[str] = TORCH, **around: Any) -> Done[str]:
    """Run one program; `around` are the other fields of `Program`."""
    return run_together([Program(arguments, **around)], imported=imported)[0]


def run_together(
    programs: Sequence[Program], *, imported: Sequence[str] = TORCH
) -> list[Done[str]]:
    """Run programs at the same time; the first one that fails ends the others."""
    return _forks(tuple(imported)).run(programs)


@cache
def _forks(modules: tuple[str, ...]) -> Forks:
    return Forks(modules)


class Forks:
    """A process that has imported modules, and starts programs as forks of itself."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = modules
        self._server: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def run(self, programs: Sequence[Program]) -> list[Done[str]]:
        with tempfile.TemporaryDirectory() as folder:
            requests = [_request(each, Path(folder, str(n))) for n, each in enumerate(programs)]
            codes = self._asked(requests)
            return [
                Done(
                    program.arguments, code, *(Path(r[name]).read_text() for name in ("out", "err"))
                )
                for program, code, r in zip(programs, codes, requests, strict=True)
            ]

    def close(self) -> None:
        if self._server is not None:
            assert self._server.stdin is not None
            self._server.stdin.close()  # which ends it
            self._server.wait()
            self._server = None

    def _asked(self, requests: list[dict[str, Any]]) -> list[int]:
        if self._server is None:
            self._server = subprocess.Popen(
                [sys.executable, __file__, *self._modules],
                env={**os.environ, **ONE_THREAD},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        server = self._server
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(requests).encode() + b"\n")
        server.stdin.flush()
        ready, _, _ = select.select([server.stdout], [], [], LIMIT_S)
        answer = server.stdout.readline() if ready else b""
        if not answer:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            self._server = None
            raise AssertionError(f"no answer in {LIMIT_S} s" if not ready else "the server ended")
        codes: list[int] = json.loads(answer)
        return codes


def _request(program: Program, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    streams = {name: str(folder / name) for name in ("in", "out", "err")}
    Path(streams["in"]).write_bytes(program.given)
    around = {**os.environ, **program.environment}
    return {
        "arguments": [str(argument) for argument in program.arguments],
        "cwd": str(program.cwd or Path.cwd()),
        "environment": {name: value for name, value in around.items() if value is not None},
        **streams,
    }


def serve(modules: Sequence[str]) -> dict[str, Any] | None:
    """Answer requests until there are no more; return one of them in each process forked for it."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("r+b") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    for name in modules:
        import_module(name)
    if (guards := sys.modules.get("torch._dynamo.guards")) is not None:
        # Dynamo times the guards of each graph, for its log, and before empties all caches for it.
        guards.profile_guard_manager = lambda *_: 0.0
    tasks = Path("/proc/self/task")
    assert not tasks.exists() or len(list(tasks.iterdir())) == 1, "a fork has one thread only"
    gc.freeze()  # or each fork goes through all of it as it ends, and copies it
    for line in asked:
        requests = json.loads(line)
        children: list[int] = []
        for request in requests:
            child = os.fork()
            if child == 0:
                _end_with_parent()
                asked.close()
                answers.close()
                return request
            children.append(child)
        answers.write(json.dumps(_codes(children)).encode() + b"\n")
        answers.flush()
    return None


def _end_with_parent() -> None:
    """Be killed when the process ends that forked this one, where the system can do that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _codes(children: list[int]) -> list[int]:
    """Wait; return exit codes as `subprocess` does."""
    codes: dict[int, int] = {}
    while len(codes) < len(children):
        child, status = os.wait()
        codes[child] = os.waitstatus_to_exitcode(status)
        if codes[child] != 0:
            for other in children:
                if other not in codes:
                    os.kill(other, signal.SIGKILL)
    return [codes[child] for child in children]


def become(request: dict[str, Any]) -> None:
    """Run a program in this process, in the place of this one."""
    flags = {0: os.O_RDONLY, 1: os.O_WRONLY | os.O_CREAT, 2: os.O_WRONLY | os.O_CREAT}
    for stream, name in enumerate(("in", "out", "err")):
        file = os.open(request[name], flags[stream] | os.O_APPEND)
        os.dup2(file, stream)
        os.close(file)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    first, *rest = request["arguments"]
    module = sys.modules["__main__"] = ModuleType("__main__")
    if first == "-c":
        code, sys.argv, sys.path[0] = compile(rest[0], "<string>", "exec"), ["-c", *rest[1:]], ""
    else:
        code = compile(Path(first).read_bytes(), first, "exec")
        sys.argv, sys.path[0], module.__file__ = [first, *rest], str(Path(first).parent), first
    sys.path[1:1] = paths
    exec(code, vars(module))


if __name__ == "__main__":
    wanted = serve(sys.argv[1:])
    if wanted is not None:
        become(wanted)
