"""SQL over tables: read only, without files or network, bounded in time, memory and rows."""

from tb_hookview.sql.engine import Limits
from tb_hookview.sql.queries import run
from tb_hookview.sql.result import Result
from tb_hookview.sql.sources import WORKER, Each, Source, sources_of, sources_of_several

__all__ = [
    "WORKER",
    "Each",
    "Limits",
    "Result",
    "Source",
    "run",
    "sources_of",
    "sources_of_several",
]
