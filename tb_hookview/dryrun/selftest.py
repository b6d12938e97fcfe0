"""Checks at the start that tensors of the device behave as CUDA's."""

from __future__ import annotations

import torch

from tb_hookview.dryrun.device.guard import DoesNotFitError


def check() -> None:
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
