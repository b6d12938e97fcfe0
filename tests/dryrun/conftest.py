"""A dry run for the time of a test."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pytest

from tb_hookview.dryrun import DryRun, dry_run


@pytest.fixture
def run() -> Iterator[DryRun]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with dry_run() as run:
            yield run


@pytest.fixture
def counted(run: DryRun) -> Callable[[Callable[[], object]], tuple[int, int]]:
    """Number of syncs of a call: certain ones, and others."""

    def count(call: Callable[[], object]) -> tuple[int, int]:
        before = len(run.recorder.syncs)
        call()
        found = [sync.reason.certain for sync in run.recorder.syncs[before:]]
        return sum(found), len(found) - sum(found)

    return count
