"""What the cache has to say, at debug level."""

from __future__ import annotations


def log(message: str, *values: object) -> None:
    """Log a message, formatted with some values."""
    import logging

    logging.getLogger("tb_hookview.cache").debug(message, *values)
