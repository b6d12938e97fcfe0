"""The table of CUDA kernels that make the host wait."""

from __future__ import annotations

from tb_hookview.dryrun.operators import sizes, uploads, values
from tb_hookview.dryrun.operators.row import Row, Version

ROWS = (*values.ROWS, *sizes.LINALG, *sizes.ROWS, *sizes.LAYOUTS, *uploads.ROWS)
KNOWN = ((2, 10), (2, 15))
"""First and last version of torch that the rows were checked against."""


def by_operator(version: Version) -> dict[str, list[Row]]:
    """Return rows by operator, `aten::name` or `aten::name.overload`, for a version of torch."""
    found: dict[str, list[Row]] = {}
    for row in ROWS:
        if row.first <= version:
            for name in row.operators:
                found.setdefault(name if "::" in name else f"aten::{name}", []).append(row)
    return found
