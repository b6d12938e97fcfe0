"""A run as `analyze_run` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tb_hookview import schema
from tb_hookview.document.html import document_html
from tb_hookview.document.plain import plain_text
from tb_hookview.ranks.document import run_lines
from tb_hookview.tables.table import Table

if TYPE_CHECKING:
    from tb_hookview.ranks.members import Members
    from tb_hookview.sql import Limits, Result

TABLES: Mapping[str, type[msgspec.Struct]] = {
    "ranks": schema.Rank,
    "rank_steps": schema.RankStep,
    "collectives": schema.Collective,
    "stragglers": schema.Straggler,
}
"""Type of the rows of each table."""


class RunReport:
    """What a run says: tables that convert to data frames, and the whole as JSON."""

    def __init__(self, data: schema.Run, members: Members) -> None:
        self.data = data
        self.members = members
        """Which ranks took part in each collective, and when; in the order of `collectives`."""

    @property
    def ranks(self) -> Table[schema.Rank]:
        """One row for each rank."""
        return Table(schema.Rank, self.data.ranks, "ranks")

    @property
    def steps(self) -> Table[schema.RankStep]:
        """One row for each step of each rank."""
        return Table(schema.RankStep, self.data.steps, "rank_steps")

    @property
    def collectives(self) -> Table[schema.Collective]:
        """Collectives, matched over the ranks, by time."""
        return Table(schema.Collective, self.data.collectives, "collectives")

    @property
    def stragglers(self) -> Table[schema.Straggler]:
        """Ranks for which the others wait in most steps, the worst first."""
        return Table(schema.Straggler, self.data.stragglers, "stragglers")

    def tables(self) -> dict[str, Table[Any]]:
        """All tables by name."""
        all_of_them = (self.ranks, self.steps, self.collectives, self.stragglers)
        return {table.name: table for table in all_of_them}

    def sql(self, query: str, limits: Limits | None = None) -> Result:
        """The answer to a query in SQL on these tables, as `Report.sql`."""
        from tb_hookview.sql import run, sources_of

        return run(query, sources_of(self.tables()), limits)

    def __repr__(self) -> str:
        """Summarize in one line."""
        data = self.data
        return (
            f"<RunReport of {data.path}: {len(data.ranks)} ranks, "
            f"{len(data.collectives)} collectives, {len(data.stragglers)} stragglers>"
        )

    def __str__(self) -> str:
        """Summarize in some lines."""
        return plain_text(run_lines(self.data))

    def _repr_html_(self) -> str:
        """HTML that a notebook shows of the run: the summary, stragglers and ranks."""
        heading = document_html(run_lines(self.data))
        tables = (self.stragglers, self.ranks) if self.data.stragglers else (self.ranks,)
        return f"<div>{heading}{''.join(table._repr_html_() for table in tables)}</div>"

    def to_json(self) -> str:
        """The whole run as JSON."""
        return msgspec.json.encode(self.data).decode()
