"""Work that nobody waits for, and what the cache says of failures: a line at debug level."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread


def log(message: str, *values: object) -> None:
    """Log a message, formatted with some values."""
    import logging

    logging.getLogger("tb_hookview.cache").debug(message, *values)


_one_at_a_time = Lock()


def later(job: Callable[[], object]) -> None:
    """Run a job on a thread of its own. A program that ends waits for it; one that is killed
    does not. What it raises is logged at debug level.
    """

    def run() -> None:
        with _one_at_a_time:
            try:
                job()
            except Exception as error:  # noqa: BLE001  # whatever it is, the answer was given
                log("not cached: %s: %s", type(error).__name__, error)

    with suppress(RuntimeError):  # no more threads can be had: the program is ending
        Thread(target=run, name="hookview-cache").start()
