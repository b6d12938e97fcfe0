"""Makes the device `cuda` exist for the time of a dry run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tb_hookview.dryrun.cuda import api, build, distributed, engine, memory, profiling
from tb_hookview.dryrun.cuda.patches import Patches
from tb_hookview.dryrun.device import guard, libraries, timer
from tb_hookview.dryrun.device.kernels import CURRENT
from tb_hookview.dryrun.device.plans import PLANS
from tb_hookview.dryrun.operators import pinned


@contextmanager
def device(count: int) -> Iterator[None]:
    """Make devices exist while the block runs.

    Args:
        count: number of devices.

    Raises:
        DoesNotFitError: a private part of torch is not as it has to be.
    """
    engine.prepare()
    with ExitStack() as undo:
        guard.install_guard()
        undo.callback(guard.install_hooks())
        undo.callback(libraries.install())
        undo.callback(timer.install())
        patches = Patches()
        undo.callback(patches.undo)
        undo.callback(_forget, CURRENT.index, CURRENT.count)
        CURRENT.index, CURRENT.count = 0, count
        for part in (api, build, memory, engine, distributed, profiling):
            part.install(patches)
        yield


def _forget(index: int, count: int) -> None:
    CURRENT.index, CURRENT.count = index, count
    pinned.forget()
    PLANS.forget()
    engine.TRITON.clear()
