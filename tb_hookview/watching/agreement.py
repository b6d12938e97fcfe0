"""Agrees with the other ranks on the steps to record, without a collective and without a wait.

Whoever wants a recording writes the next numbered plan, if nobody else has: the store of the
process group, or a folder, takes one plan per number. Everyone looks for the next number now and
then, in a thread of its own, and follows the plan whose first step is still to come. Nobody is
asked and nobody waits, so a rank that is gone or late holds up no other.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import torch

from tb_hookview.recorder import manifest

_KEY = "hookview/watch"
_PATIENCE = timedelta(seconds=5)
_STALE_S = 120.0
"""Age at which a plan is of an earlier run: ranks of one run do not start further apart."""


@dataclass(frozen=True)
class RecordingPlan:
    """One recording, the same on all ranks."""

    start: int
    """First step that is recorded."""
    steps: int
    reason: str
    asked_by: int | None = None
    """Rank that asked."""
    ranks: tuple[int, ...] | None = None
    """Ranks that record; None for all."""
    ratio: float = 0.0
    """How slow the steps were that asked for it, over the running median."""

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))


def parse_plan(text: str | bytes) -> RecordingPlan:
    """Return a plan from JSON.

    Raises:
        ValueError: this is no plan.
    """
    read = json.loads(text)
    if not isinstance(read, Mapping):
        raise ValueError("no plan")
    known = {each.name for each in fields(RecordingPlan)}
    given: dict[str, Any] = {key: value for key, value in read.items() if key in known}
    try:
        plan = RecordingPlan(**given)
        ranks = None if plan.ranks is None else tuple(map(int, plan.ranks))
        return RecordingPlan(
            int(plan.start), int(plan.steps), str(plan.reason), plan.asked_by, ranks, plan.ratio
        )
    except TypeError as error:
        raise ValueError(f"no plan: {error}") from error


class Board(Protocol):
    """Holds one plan per number."""

    def look(self, number: int) -> RecordingPlan | None:
        """Return the plan of a number; None where there is none yet."""

    def post(self, number: int, plan: RecordingPlan) -> RecordingPlan:
        """Post a plan, unless one is there; return the one that counts."""


class Alone:
    """The board of a run of one process."""

    def __init__(self) -> None:
        self._plans: dict[int, RecordingPlan] = {}

    def look(self, number: int) -> RecordingPlan | None:
        """Return the plan of a number; None where there is none yet."""
        return self._plans.get(number)

    def post(self, number: int, plan: RecordingPlan) -> RecordingPlan:
        """Post a plan."""
        self._plans = {number: plan}
        return plan


class StoreBoard:
    """The store of the process group, over a connection of its own."""

    def __init__(self, store: Any) -> None:
        """Connect.

        Args:
            store: the group's; that of another thread may be busy waiting.
        """
        self._store = store.clone()
        self._store.set_timeout(_PATIENCE)

    def look(self, number: int) -> RecordingPlan | None:
        """Return the plan of a number; None where there is none yet."""
        key = f"{_KEY}/{number}"
        if not self._store.check([key]):
            return None
        return parse_plan(self._store.get(key))

    def post(self, number: int, plan: RecordingPlan) -> RecordingPlan:
        """Post a plan, unless one is there; return the one that counts."""
        return parse_plan(self._store.compare_set(f"{_KEY}/{number}", "", plan.to_json()))


class FolderBoard:
    """A folder that all ranks see."""

    def __init__(self, folder: Path, run: str) -> None:
        """Take a folder, made when a plan is posted.

        Args:
            folder: shared by all ranks.
            run: what tells this run from earlier ones in the same folder.
        """
        self._folder = folder
        self._run = run
        self._oldest = time.time() - _STALE_S

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._run}.{number}.json"

    def look(self, number: int) -> RecordingPlan | None:
        """Return the plan of a number; None where there is none yet.

        A plan of an earlier run in the same folder begins at a step that is long over.
        """
        path = self._path(number)
        try:
            plan = parse_plan(path.read_text())
            return replace(plan, start=0) if path.stat().st_mtime < self._oldest else plan
        except FileNotFoundError:
            return None

    def post(self, number: int, plan: RecordingPlan) -> RecordingPlan:
        """Post a plan, unless one is there; return the one that counts."""
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=".")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(plan.to_json())
            with contextlib.suppress(FileExistsError):
                os.link(name, self._path(number))  # whole, or not at all
        finally:
            Path(name).unlink(missing_ok=True)
        return self.look(number) or plan


def find_board(folder: Path) -> Board:
    """Return the board of this run: its store, else a folder, else none but this process."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        store: Any = torch.distributed.distributed_c10d._get_default_store()
        with contextlib.suppress(Exception):  # some stores have no second connection
            return StoreBoard(store)
    _, world_size = manifest.place()
    if (world_size or 1) > 1:
        # The same on all ranks of one launch, and another one in the next.
        run = os.environ.get("TORCHELASTIC_RUN_ID") or os.environ.get("MASTER_PORT") or "run"
        restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return FolderBoard(
            folder, "".join(c for c in f"{run}-{restart}" if c.isalnum() or c == "-")
        )
    return Alone()
