"""Four processes of DistributedDataParallel; a module of one of them is slow, or none is."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import torch.distributed as dist

from sample_traces.scenario import Recording, Scenario, Setting, UnavailableError, Variant

_RANKS = 4
_SECONDS = 120
_ROOT = Path(__file__).resolve().parents[2]


def _record(setting: Setting, folder: Path, recording: Recording, *, late: bool) -> None:
    """Start the processes, which record into the folder."""
    if not dist.is_available() or not dist.is_gloo_available():
        raise UnavailableError("this torch has no gloo")
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            sys.executable,
            "-m",
            "sample_traces.rank",
            str(folder),
            str(Path(scratch, "meeting")),
        ]
        shared = {**os.environ, "PYTHONPATH": str(_ROOT), "OMP_NUM_THREADS": "1"}
        shared |= {"WORLD_SIZE": str(_RANKS), "GLOO_SOCKET_IFNAME": "lo"}
        processes = [
            subprocess.Popen(
                [*command, str(recording.steps), str(int(late)), setting.device.type],
                env={**shared, "RANK": str(rank)},
            )
            for rank in range(_RANKS)
        ]
        try:
            codes = [process.wait(_SECONDS) for process in processes]
        finally:
            for process in processes:
                process.kill()  # one waits for ever where another has failed
    if any(codes):
        raise RuntimeError(f"the ranks ended with codes {codes}")


LATE_RANK = Scenario(
    "late_rank",
    "four ranks of DistributedDataParallel over gloo, one slowed by one module, against none",
    (
        Variant(
            "late",
            record=partial(_record, late=True),
            late="0",
        ),
        Variant(
            "even",
            record=partial(_record, late=False),
        ),
    ),
    ranks=_RANKS,
    seconds=2 * _SECONDS,
    on_cpu="`hookview ranks` names rank 2 and its module `0`, an augmentation that takes 100 ms "
    "more than on the other ranks, which wait for it in the all-reduces of the backward.",
)
