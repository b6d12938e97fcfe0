"""When no dry run is possible, said in one line."""

from __future__ import annotations

import sys
from typing import Any

import torch

from tb_hookview.errors import UsageError

OLDEST = (2, 10)
_C: Any = torch._C


def check(*, force: bool, active: bool) -> None:
    """Refuse what cannot work, before anything is changed.

    Args:
        force: run although there is a GPU.
        active: whether a dry run is going on.

    Raises:
        UsageError: the reason, and the remedy.
    """
    if active:
        raise UsageError("a dry run is active already; it cannot be nested")
    if not sys.platform.startswith("linux"):
        raise UsageError(f"a dry run needs Linux, and this is {sys.platform}; use a container")
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise UsageError(
            f"a dry run needs torch {wanted} or newer, and this is {torch.__version__}"
        )
    if not force and _has_gpu():
        raise UsageError(
            "a dry run is for machines without a GPU, and this one has one: record with hookview "
            'run, or call torch.cuda.set_sync_debug_mode("warn"); or hide it '
            "(CUDA_VISIBLE_DEVICES=), or force=True (--force)"
        )


def does_not_fit(reason: Exception) -> UsageError:
    """Return the refusal where a private part of torch is not as it has to be."""
    return UsageError(
        f"no dry run with torch {torch.__version__}: {reason}; use torch 2.10 to 2.15"
    )


def _has_gpu() -> bool:
    return bool(getattr(_C, "_has_cuda", False)) and _C._cuda_getDeviceCount() > 0
