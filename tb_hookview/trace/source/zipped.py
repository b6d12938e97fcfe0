"""Opens the one trace in a zip file."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import IO

from tb_hookview.errors import TraceError

DAMAGED_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    LookupError,
    OverflowError,
    struct.error,
)
"""Errors of reading a zip file that is damaged or compressed in an unknown way."""
_NAMED = 3
"""Members that an error names."""


def open_member(path: str, raw: IO[bytes]) -> IO[bytes]:
    """Open the only file in a zip file, or the only trace by name.

    Raises:
        TraceError: it is damaged or encrypted, or holds no trace or several.
    """
    try:
        archive = zipfile.ZipFile(raw)
        return archive.open(_chosen(path, archive))
    except DAMAGED_ZIP as error:
        reason = f"the zip file cannot be read ({error})"
        raise TraceError(path, reason, "unpack it, or copy it again") from error


def _chosen(path: str, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [
        member
        for member in archive.infolist()
        if not member.filename.endswith("/")
        and "__MACOSX" not in PurePosixPath(member.filename).parts
    ]
    traces = [m for m in members if m.filename.endswith((".json", ".json.gz"))]
    chosen = members if len(members) == 1 else traces
    if not chosen:
        raise TraceError(
            path, "a zip file without a trace", "name a file that torch.profiler wrote"
        )
    if len(chosen) > 1:
        names = ", ".join(repr(member.filename[:60]) for member in chosen[:_NAMED])
        more = ", ..." if len(chosen) > _NAMED else ""
        reason = f"a zip file with {len(chosen)} traces ({names}{more})"
        raise TraceError(path, reason, "unpack it and name one of them")
    return chosen[0]
