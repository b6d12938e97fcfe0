"""One query on tables, here or in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping

from tb_hookview.sql import confined, engine
from tb_hookview.sql.engine import Limits
from tb_hookview.sql.result import Result
from tb_hookview.sql.sources import Source


def run(query: str, sources: Mapping[str, Source], limits: Limits | None = None) -> Result:
    """Answer one query; tables that it does not read are not made.

    Raises:
        UsageError: DuckDB or pyarrow is not installed, the query has a mistake or is no single
            query, or it needs more than the limits allow.
    """
    limits = limits or Limits()
    if limits.confined:
        return confined.run(query, sources, limits)
    return engine.run(query, sources, limits)
