"""From a file to its report: through the cache, and with its events in another order."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from damage.rows import Rows, changed, reordered
from damage.unordered import unordered
from invariants.case import Case
from invariants.registry import Of, invariant
from support.caching import wait_until_written
from support.same_trace import assert_same

import tb_hookview as hookview
from tb_hookview.cache import opened, source_of
from tb_hookview.loading import cached_reader, columns
from tb_hookview.trace import LocalFile, reader


@invariant(Of.RECORDINGS)
def cached_columns_and_reports_are_those_of_the_file(case: Case) -> None:
    with _own_cache() as changed:
        file = LocalFile(case.path)
        source = source_of(file, opened())
        assert source is not None
        assert columns.store(source, case.trace)
        assert_same(case.trace, columns.load(source, file))
        changed.setattr(reader, "read_trace", _not_again)
        of_columns = hookview.analyze(case.path)
        wait_until_written()
        cached = hookview.analyze(case.path)
        assert of_columns.to_json() == cached.to_json() == case.report.to_json()
        assert cached.data == case.data


@contextmanager
def _own_cache() -> Iterator[pytest.MonkeyPatch]:
    """A cache that is empty, and holds columns of the smallest file, too."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as changed:
        changed.setenv("HOOKVIEW_CACHE", folder)
        changed.delenv("HOOKVIEW_CACHE_LIMIT", raising=False)
        changed.setattr(cached_reader, "CACHED_FROM", 0)
        yield changed
        wait_until_written()


def _not_again(*_: object, **__: object) -> None:
    raise AssertionError("the file was read again, though all of it is cached")


@invariant(Of.RECORDINGS)
def events_in_another_order_give_the_same_report(case: Case) -> None:
    """Rows of equal extent nest by their ids, and not as they stand in the file."""
    with tempfile.TemporaryDirectory() as folder:
        if not case.small:
            text, case = changed(case.text, _parts), Case(Path(folder, "part.pt.trace.json"))
            case.path.write_bytes(text)
        moved = Case(Path(folder, "moved.pt.trace.json"))
        moved.path.write_bytes(reordered(case.text, random.Random(7).shuffle))
        assert unordered(moved.report) == unordered(case.report)


def _parts(rows: Rows) -> Rows:
    """Runs of rows that stand together in a file, from all of it."""
    every = -(-len(rows) // 30_000)
    return [row for number, row in enumerate(rows) if number // 200 % every == 0]
