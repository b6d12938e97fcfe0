"""Addresses as text: which are, and what of one may be shown."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

_USER = re.compile(
    # A secret key may have slashes: then it ends at an @ further on. A port is no secret.
    r"(?<=://)(?:[^/?#]*@|[^/?#:]+:(?!\d*(?:[/?#]|$))[^?#]*@)"
)
_CONTAINER = re.compile(r"(?:abfss?|wasbs?)://[^/?#:@]+@")
"""Azure's addresses name their container where others name a user."""
_QUERY = re.compile(r"[?#].*", re.DOTALL)


def is_address(path: str | PathLike[str]) -> bool:
    """Whether a path is an address; one of pathlib's never is: it has no two slashes."""
    return isinstance(path, str) and "://" in path


def shown(path: str | PathLike[str]) -> str:
    """A path or address as people may see it: without user, password, query and fragment."""
    text = str(path)
    if not is_address(path):
        return text
    without = _QUERY.sub("", text)
    return without if _CONTAINER.match(without) else _USER.sub("", without)


def scrubbed(message: object) -> str:
    """The beginning of another program's message, on one line; addresses in it as `shown`."""
    return " ".join(_QUERY.sub("", shown(word)) for word in str(message).split())[:200]


def last_part(address: str) -> str:
    """The name after the last slash of an address."""
    return shown(address).rstrip("/").rpartition("/")[2]


def is_chained(address: str) -> bool:
    """Whether an address leads through several file systems (`simplecache::s3://bucket/run`)."""
    return "::" in re.sub(r"\[[^\]]*\]", "", address)  # a host may be [::1]


def place(path: str | PathLike[str]) -> str | Path:
    """An address as it is, anything else as a path."""
    return str(path) if is_address(path) else Path(path)


def child(folder: str, name: str) -> str:
    """The address of a file in a folder; a query, which may be a signature, stays at the end."""
    base, mark, query = folder.partition("?")
    return f"{base.rstrip('/')}/{name}{mark}{query}"
