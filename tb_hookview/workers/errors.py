"""The failures of workers."""

from __future__ import annotations


class WorkerError(Exception):
    """The function that a worker called raised; the message says what."""


class WorkerDiedError(WorkerError):
    """A worker died; the message says how."""
