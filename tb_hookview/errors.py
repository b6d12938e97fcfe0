"""The errors a user can understand and act upon; anything else that escapes is a bug of ours."""

from __future__ import annotations

from os import PathLike


class HookviewError(Exception):
    """Base of every error whose message is meant for the user: one line, with the remedy in it."""


class UsageError(HookviewError):
    """A call that cannot be carried out as it was made (wrong argument, unknown name)."""


class NotFoundError(UsageError):
    """A run, worker, trace or step that was asked for and does not exist."""


class TraceError(HookviewError):
    """A file that cannot be read as a trace.

    Args:
        path: the file (or folder) as the user named it.
        reason: what is wrong with it, a phrase without a full stop.
        remedy: what the user can do about it, a phrase, or "" where nothing helps.
    """

    def __init__(self, path: str | PathLike[str], reason: str, remedy: str = "") -> None:
        self.path = str(path)
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{self.path}: {reason}" + (f"; {remedy}" if remedy else ""))
