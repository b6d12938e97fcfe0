"""The bytes of a trace file, compressed or not: decided by the magic bytes, not by the name."""

from __future__ import annotations

from pathlib import Path

from isal import igzip, igzip_lib

from tb_hookview.errors import TraceError

_GZIP = b"\x1f\x8b"
_DAMAGE: tuple[type[Exception], ...] = (
    EOFError,
    OSError,
    igzip_lib.IsalError,  # type: ignore[assignment]  # the stub calls the class an instance
)


def read_bytes(path: Path) -> bytes:
    """Return the inflated content of a file.

    Raises:
        TraceError: the file is missing, unreadable, empty, or damaged gzip.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise TraceError(path, "no such file or folder", "check the path") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read ({error.strerror})") from error
    if not raw:
        raise TraceError(path, "the file is empty", "record the run again")
    if not raw.startswith(_GZIP):
        return raw
    try:
        inflated: bytes = igzip.decompress(raw)  # type: ignore[no-untyped-call]
    except _DAMAGE as error:
        raise TraceError(
            path, f"the gzip data is damaged or cut off ({error})", "copy or record it again"
        ) from error
    return inflated
