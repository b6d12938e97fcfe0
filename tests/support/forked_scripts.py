"""Runs scripts, each as a fork of this process, which has imported torch for all of them.

    python forked_scripts.py < CASES

CASES is a JSON list of lists of arguments as Python takes them: `SCRIPT ...` or `-m MODULE ...`.
Prints a list of exit code, standard output and standard error of each.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryFile

import torch._dynamo.testing
import torch._inductor  # noqa: F401  # as the profiler does when it starts


def main() -> None:
    gc.collect()
    gc.freeze()  # a fork that touches all of it copies it
    found = []
    for arguments in json.load(sys.stdin):
        with TemporaryFile() as out, TemporaryFile() as errors:
            child = os.fork()
            if child == 0:
                os.dup2(out.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                run(*arguments)
                return
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            texts = [os.pread(file.fileno(), 1 << 20, 0).decode() for file in (out, errors)]
            found.append([code, *texts])
    json.dump(found, sys.stdout)


def run(first: str, *others: str) -> None:
    """Run a script or a module as `__main__`."""
    sys.argv[:] = others if first == "-m" else (first, *others)
    sys.path[0] = str(Path.cwd() if first == "-m" else Path(first).resolve().parent)
    if first == "-m":
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    main()
