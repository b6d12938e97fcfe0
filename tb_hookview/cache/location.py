"""The folder of the cache and its limit, from the environment."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tb_hookview.cache.entries import Cache
from tb_hookview.errors import UsageError

VARIABLE = "HOOKVIEW_CACHE"
"""Names the folder, or is one of `OFF`."""
LIMIT_VARIABLE = "HOOKVIEW_CACHE_LIMIT"
"""Environment variable: the most bytes cached. K, M, G and T stand for powers of 1024."""
OFF = frozenset(("off", "0", "false", "no"))
LIMIT = 4 << 30

_SIZE = re.compile(r"(?P<number>\d{1,15}(\.\d{1,6})?)\s*(?P<unit>[KMGT]?)(i?B)?", re.IGNORECASE)
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def opened() -> Cache | None:
    """Return the environment's cache; None where caching is off or its limit is invalid."""
    try:
        return None if is_off() else Cache(folder(), limit())
    except (UsageError, RuntimeError):  # no such size; no home either
        return None


def is_off() -> bool:
    """Whether the environment turns caching off."""
    return os.environ.get(VARIABLE, "").strip().lower() in OFF


def folder() -> Path:
    """Return the folder of the cache, which need not exist.

    Raises:
        RuntimeError: the user has no home.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        return Path(named).expanduser().absolute()
    import platformdirs

    usual = Path(platformdirs.user_cache_dir("tb_hookview", appauthor=False))
    if not usual.is_absolute():
        raise RuntimeError("no home folder")
    return usual


def limit() -> int:
    """Return how many bytes may be cached.

    Raises:
        UsageError: the variable's value is not a size.
    """
    named = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not named:
        return LIMIT
    size = _SIZE.fullmatch(named)
    if size is None:
        raise UsageError(f"{LIMIT_VARIABLE}={named!r} is not a size; use one such as 500M or 4G")
    return int(float(size["number"]) * (1 << _UNITS[size["unit"].upper()]))
