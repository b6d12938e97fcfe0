"""What was worked out of a file, kept on disk: bytes by kind, file and version of this program.

Nothing here may fail its caller: whatever cannot be read or written is a miss, and a line in the
log at debug level.
"""

from tb_hookview.cache.background import later
from tb_hookview.cache.entries import Cache, Usage
from tb_hookview.cache.location import OFF, VARIABLE, opened
from tb_hookview.cache.program import program
from tb_hookview.cache.source import Source, about
from tb_hookview.cache.state import FileState, file_state

__all__ = [
    "OFF",
    "VARIABLE",
    "Cache",
    "FileState",
    "Source",
    "Usage",
    "about",
    "file_state",
    "later",
    "opened",
    "program",
]
