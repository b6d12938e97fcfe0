"""A report compared with itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from invariants.case import Case
from invariants.registry import invariant

from tb_hookview.comparison.compare import compare
from tb_hookview.schema import Pair


@invariant()
def a_report_and_itself_differ_in_nothing(case: Case) -> None:
    found = compare(case.data, case.data)
    assert {pair.change for pair in pairs_in(found)} <= {0.0, None}
    tables = (found.modules, found.sync_sites, found.kernels, found.findings)
    assert {row.status for table in tables for row in table} <= {"same"}
    assert len(found.modules) == len(case.data.modules)


def pairs_in(value: Any) -> Iterator[Pair]:
    """Every pair of numbers in a comparison, wherever it is."""
    if isinstance(value, Pair):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from pairs_in(getattr(value, name))
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from pairs_in(part)
