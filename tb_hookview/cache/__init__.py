"""Cache on disk of what was computed from a file, by kind, file and version.

Nothing here may fail its caller: whatever cannot be read or written is a miss, and a line in the
log at debug level.
"""

from tb_hookview.cache.background import later
from tb_hookview.cache.entries import (
    VARIABLE,
    Cache,
    File,
    FileState,
    Source,
    Usage,
    file_state,
    opened,
    program,
    source_of,
)

__all__ = [
    "VARIABLE",
    "Cache",
    "File",
    "FileState",
    "Source",
    "Usage",
    "file_state",
    "later",
    "opened",
    "program",
    "source_of",
]
