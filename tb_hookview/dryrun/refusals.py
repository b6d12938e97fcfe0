"""When no dry run is possible or allowed, said in one line."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch

from tb_hookview.dryrun.device.guard import DoesNotFitError
from tb_hookview.dryrun.recording.recorder import NotedSync
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


# Syncs that may be there, each with a reason.


_MARK = "  # "


class Allowance(NamedTuple):
    """An entry: text that a sync's description contains, and why it may be there."""

    text: str
    reason: str


def given(texts: Iterable[str]) -> list[Allowance]:
    """Return the entries of a call, which need no reasons."""
    if isinstance(texts, str):
        raise UsageError("allow is a list of texts, such as allow=['loss.item()']")
    return [Allowance(text, "allowed by the caller") for text in texts]


def read(path: Path) -> list[Allowance]:
    """Read a file: in each line a text, two spaces, a number sign and the reason.

    Raises:
        UsageError: it cannot be read, or an entry has no reason.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as a list of allowed syncs ({error})") from None
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        text, mark, reason = line.rpartition(_MARK)
        if not mark or not text.strip() or not reason.strip():
            raise UsageError(
                f"{path}:{number}: no reason; write the text, two spaces, # and the reason"
            )
        entries.append(Allowance(text.strip(), reason.strip()))
    return entries


def described(sync: NotedSync) -> str:
    """Return what the text of an entry is looked for in."""
    line, forward = sync.line, sync.forward_line
    parts = [sync.operator, sync.within, sync.cause, sync.node or "", sync.via or ""]
    if sync.module is not None:
        parts += [sync.module.path, sync.module.class_name]
    for place in (line, forward):
        if place is not None:
            parts += [f"{place} {place.function}", place.code]
    return "\n".join(parts)


class Allowances:
    """Which entries were of use."""

    def __init__(self, entries: Iterable[Allowance]) -> None:
        self._entries = list(entries)
        self._used: set[Allowance] = set()

    def reason_for(self, sync: NotedSync) -> str | None:
        """Return why a sync may be there; None if it may not."""
        text = described(sync)
        for entry in self._entries:
            if entry.text in text:
                self._used.add(entry)
                return entry.reason
        return None

    @property
    def unused(self) -> list[str]:
        """Texts of the entries that no sync matched."""
        return [entry.text for entry in self._entries if entry not in self._used]


# Ctrl+C waits while torch is being changed, so that nothing is left half done.


@contextmanager
def deferred() -> Iterator[None]:
    """Deliver SIGINT after the block instead of in it, on the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        before(*came[0])
