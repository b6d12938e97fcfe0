"""Starts the processes of one distributed run as forks of one that has done their imports.

    python forked_ranks.py SIZE PROGRAM [ARGUMENT ...]

Imports are most of what a short run costs. The program has RANK and WORLD_SIZE, and does nothing
without `__name__ == "__main__"`. The first process that fails ends the others, which would wait for
it.
"""

from __future__ import annotations

import gc
import os
import runpy
import signal
import sys

import torch._inductor  # noqa: F401  # as the profiler does when it starts


def main(size: int, program: str, *arguments: str) -> int:
    runpy.run_path(program)
    gc.collect()
    gc.freeze()  # a fork that touches all of it copies it
    sys.argv = [program, *arguments]
    ranks: set[int] = set()
    for rank in range(size):
        child = os.fork()
        if child == 0:
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
            runpy.run_path(program, run_name="__main__")
            return 0
        ranks.add(child)
    return _wait(ranks)


def _wait(ranks: set[int]) -> int:
    """Return the exit code of the first process that failed, or 0."""
    while ranks:
        child, status = os.wait()
        ranks.discard(child)
        if status != 0:
            for other in ranks:
                os.kill(other, signal.SIGKILL)
            return os.waitstatus_to_exitcode(status)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
