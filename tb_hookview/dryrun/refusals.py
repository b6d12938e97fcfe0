"""When no dry run is possible, said in one line."""

from __future__ import annotations

import sys
from typing import Any

import torch

from tb_hookview.dryrun.device.guard import DoesNotFitError
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


def check_device() -> None:
    """Try a small training step on the device.

    Raises:
        DoesNotFitError: something does not behave as it has to.
    """
    try:
        problem = _problem()
    except (RuntimeError, NotImplementedError, AttributeError, TypeError) as error:
        raise DoesNotFitError(str(error).partition("\n")[0]) from error
    if problem:
        raise DoesNotFitError(problem)


def _problem() -> str:
    with torch.inference_mode(False), torch.enable_grad():
        host = torch.arange(6.0, device="cpu").reshape(2, 3)
        x = host.to("cuda")
        if not x.is_cuda or x[0].device.type != "cuda" or x.cpu().tolist() != host.tolist():
            return "copies to the device and back do not work"
        x[:, 1:].mul_(2)
        if x.cpu().tolist() != [[0.0, 2.0, 4.0], [3.0, 8.0, 10.0]]:
            return "views do not share memory"
        leaf = x.detach().requires_grad_()
        torch.autograd.backward((leaf * leaf).sum())
        if leaf.grad is None or not leaf.grad.is_cuda or not torch.equal(leaf.grad, 2 * leaf):
            return "the backward pass does not work"
        with torch.autocast("cuda", dtype=torch.bfloat16):
            if (x @ x.T).dtype is not torch.bfloat16:
                return "autocast does not work"
    return ""
