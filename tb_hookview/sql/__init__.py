"""SQL over tables: read only, without files or network, bounded in time, memory and rows.

DuckDB binds a query to the tables' columns first and asks for rows when it scans a table: a mistake
costs nothing, and tables that a query does not read are not made.

Must not be here: what a table holds, SQL of our own on the user's behalf.
"""

from tb_hookview.sql.confined import run
from tb_hookview.sql.engine import Limits
from tb_hookview.sql.sources import WORKER, Each, Result, Source, sources_of, sources_of_several

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
