"""What tells one content of a file from another."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from tb_hookview.cache.state import FileState, file_state

WHOLE = 16 << 20
"""Files up to so many bytes are hashed whole: two hundredths of a second at most."""
STRIPE = 128 << 10
STRIPES = 64
"""Of larger ones so many stripes of so many bytes are, the head and the tail among them."""


def fingerprint(path: Path) -> str | None:
    """Return the hash of a file's content; of a large one that of its size, its time and a sample.

    The hash is worked out once for each state that the file system tells apart.

    Returns:
        None where there is no ordinary file that can be read: a pipe can be read only once.
    """
    return _of(path, again=False)


def fingerprint_now(path: Path) -> str | None:
    """The same, but worked out anew whatever the file system says."""
    return _of(path, again=True)


def _of(path: Path, *, again: bool) -> str | None:
    try:
        if not path.is_file():
            return None
        return (_hash.__wrapped__ if again else _hash)(path, file_state(path))
    except (OSError, ValueError):  # a path with a zero byte is a ValueError
        return None


@lru_cache(maxsize=1024)
def _hash(path: Path, state: FileState) -> str:
    size, modified_ns, *_ = state
    found = hashlib.blake2b(digest_size=20)
    with path.open("rb", buffering=0) as file:
        if size <= WHOLE:
            # Piece by piece: fresh memory for the whole would take as long as the hash.
            while piece := file.read(STRIPE):
                found.update(piece)
        else:
            found.update(f"{size} {modified_ns}".encode())
            for stripe in range(STRIPES):
                file.seek((size - STRIPE) * stripe // (STRIPES - 1))
                found.update(file.read(STRIPE))
    return found.hexdigest()
