"""Steps of a script that is not edited: calls of its first optimizer's step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from tb_hookview.dryrun.run import DryRun


class EnoughError(BaseException):
    """Ends the script after its last step; no handler of errors is meant to catch it."""


@contextmanager
def counted(run: DryRun, most: int) -> Iterator[None]:
    """Count steps while the block runs, and end it after some of them.

    Args:
        run: the dry run, which counts each step.
        most: number of steps after which EnoughError is raised in the optimizer's step.
    """
    handle: Any = register_optimizer_step_post_hook(_hook(run, most))
    try:
        yield
    finally:
        handle.remove()


def _hook(run: DryRun, most: int) -> Callable[[Optimizer, Any, Any], None]:
    first: list[Optimizer] = []

    def after(optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if not first:
            first.append(optimizer)
        if optimizer is first[0]:
            run.step()
            if run.recorder.step >= most:
                raise EnoughError

    return after
