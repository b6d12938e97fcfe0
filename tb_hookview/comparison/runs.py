"""Changes between two runs of many ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from msgspec.structs import asdict

from tb_hookview.comparison.sides import Keys, each, ids, pair, pair_up, rows_of, status_of
from tb_hookview.schema import (
    Collective,
    CollectiveChange,
    Pair,
    Rank,
    RankChange,
    RankTimes,
    Run,
    RunComparison,
    RunSide,
)


def compare_runs(base: Run, other: Run) -> RunComparison:
    """Join two runs rank by rank, and their collectives by kind."""
    mean = _times(base.ranks, other.ranks)
    step = mean.step_us
    before, after = ({row.rank: row.sure for row in run.stragglers} for run in (base, other))
    return RunComparison(
        base=_side(base),
        other=_side(other),
        speedup=step.base / step.other if step.base and step.other else None,
        mean=mean,
        ranks=sorted(_ranks(base, other), key=_own_change, reverse=True),
        collectives=sorted(_collectives(base, other), key=_effect, reverse=True),
        late=sorted(rank for rank, sure in after.items() if sure and rank not in before),
        no_longer_late=sorted(rank for rank, sure in before.items() if sure and rank not in after),
    )


def _side(run: Run) -> RunSide:
    return RunSide(
        path=run.path,
        ranks=len(run.ranks),
        world_size=run.world_size,
        stragglers=run.stragglers,
        marked=run.marked,
    )


def _ranks(base: Run, other: Run) -> Iterable[RankChange]:
    left, right = ({row.rank: row for row in run.ranks} for run in (base, other))
    for rank in sorted(left.keys() | right.keys()):
        before, after = left.get(rank), right.get(rank)
        times = _times([before] if before else [], [after] if after else [])
        pairs = asdict(times).values()
        yield RankChange(
            **ids(before, after),
            rank=rank,
            status=status_of(before, after, moved=False, pairs=pairs),
            times=times,
        )


def _times(base: Sequence[Rank], other: Sequence[Rank]) -> RankTimes:
    """Means over ranks, of those that have steps."""

    def both(field: str) -> Pair:
        return pair(*(_mean(getattr(row, field) for row in rows) for rows in (base, other)))

    return RankTimes(**{field: both(field) for field in RankTimes.__struct_fields__})


def _mean(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return fmean(known) if known else None


def _own_change(row: RankChange) -> float:
    return abs((row.times.step_us.change or 0.0) - (row.times.wait_us.change or 0.0))


class _Kind(NamedTuple):
    """Collectives of one name, size and number of ranks in one run."""

    key: tuple[str, int | None, int]
    rows: list[Collective]
    steps: int

    def mean(self, number: Callable[[Collective], float]) -> float | None:
        return _mean(map(number, self.rows))

    @property
    def per_step(self) -> float:
        return len(self.rows) / self.steps


def _kinds(run: Run) -> list[_Kind]:
    """Collectives by kind, without those at the ends of the run that only some ranks recorded."""
    found: dict[tuple[str, int | None, int], list[Collective]] = defaultdict(list)
    for row in run.collectives:
        found[row.name, row.bytes, row.ranks].append(row)
    steps = max(1, len({row.name for row in run.steps}))
    most = {key[:2]: key[2] for key in sorted(found, key=lambda key: key[2])}
    return [
        _Kind(key, rows, steps)
        for key, rows in found.items()
        if len(rows) >= steps or key[2] == most[key[:2]]
    ]


def _collectives(base: Run, other: Run) -> Iterable[CollectiveChange]:
    left, right = _kinds(base), _kinds(other)
    # One that is of all ranks has fewer where a trace is missing.
    keys: list[Keys[_Kind]] = [each(lambda kind: kind.key), each(lambda kind: kind.key[:2])]
    for number, match in enumerate(pair_up(left, right, keys)):
        sides = before, after = rows_of(left, right, match)
        count = pair(*(side.per_step if side else 0.0 for side in sides))
        transfer = pair(*(side and side.mean(lambda row: row.transfer_us) for side in sides))
        wait = pair(*(side and side.mean(lambda row: row.wait_us) for side in sides))
        name, size, ranks = next(side.key for side in sides if side)
        yield CollectiveChange(
            id=str(number),
            name=name,
            bytes=size,
            ranks=ranks,
            status=status_of(before, after, moved=False, pairs=(count, transfer, wait)),
            count=count,
            transfer_us=transfer,
            wait_us=wait,
        )


def _effect(row: CollectiveChange) -> float:
    """Change of the time of all of a kind in a step."""

    def whole(side: str) -> float:
        each = (getattr(part, side) or 0.0 for part in (row.transfer_us, row.wait_us))
        return (getattr(row.count, side) or 0.0) * sum(each)

    return abs(whole("other") - whole("base"))
