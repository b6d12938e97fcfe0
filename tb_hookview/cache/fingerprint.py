"""A fingerprint of a file's content."""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache

from tb_hookview.cache.state import File, FileState
from tb_hookview.errors import HookviewError

WHOLE = 16 << 20
"""Largest file that is hashed whole, in bytes: two hundredths of a second at most."""
STRIPE = 128 << 10
STRIPES = 64
"""Stripes of `STRIPE` bytes hashed of a larger file, head and tail among them."""


def fingerprint(file: File) -> str | None:
    """Return the hash of a file's content.

    That of a large file is of its size, its time and a sample; that of a file in a store is the
    version which the store names, so that nothing is fetched.

    The hash is computed once for each state of the file.

    Returns:
        None where it cannot be read, or only once.
    """
    return _of(file, again=False)


def fingerprint_now(file: File) -> str | None:
    """Return the same, computed again whatever the state says."""
    return _of(file, again=True)


def _of(file: File, *, again: bool) -> str | None:
    try:
        state = file.state()
        if state.version is not None:
            return state.version or None
        return (_hash.__wrapped__ if again else _hash)(file, state)
    except (OSError, HookviewError):
        return None


@lru_cache(maxsize=1024)
def _hash(file: File, state: FileState) -> str:
    found = hashlib.blake2b(digest_size=20)
    with file.open() as opened:
        if state.size <= WHOLE:
            # Piece by piece: fresh memory for the whole would take as long as the hash.
            while piece := opened.read(STRIPE):
                found.update(piece)
        else:
            found.update(f"{state.size} {state.modified_ns}".encode())
            for stripe in range(STRIPES):
                opened.seek((state.size - STRIPE) * stripe // (STRIPES - 1), io.SEEK_SET)
                found.update(opened.read(STRIPE))
    return found.hexdigest()
