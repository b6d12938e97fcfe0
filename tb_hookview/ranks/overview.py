"""A run as its page shows it: sums over steps and collectives, each bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import get_args

import numpy as np

from tb_hookview import schema
from tb_hookview.errors import UsageError
from tb_hookview.ranks.document import mean_of, verdict_sentence
from tb_hookview.schema.ranks import Quantity
from tb_hookview.trace.source.runs import natural

QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
_FIELDS: Mapping[str, str] = {
    **{name: f"{name}_us" for name in QUANTITIES},
    "exposed": "exposed_communication_us",
}
CELLS = 80_000
"""Values of a matrix of steps: fewer than a megabyte as JSON."""
SIZES = 500
LISTED = 100
"""Missing ranks, traces that cannot be read, and warnings that are listed."""
EDGES_US = np.geomspace(1.0, 1e8, 33)
"""From 1 us to 100 s, four in a factor of ten."""
_RECORD = "record every rank with hookview.profile into the same folder"


def overview(run: schema.Run, workers: Mapping[str, str]) -> schema.RunOverview:
    """Sum up a run.

    Args:
        run: the run.
        workers: name of the worker of each trace by its path.
    """
    sizes = _sizes(run.collectives)
    return schema.RunOverview(
        run=run.path,
        nothing=_nothing(run),
        world_size=run.world_size,
        ranks=[rank.rank for rank in run.ranks],
        workers=[workers.get(rank.path, "") for rank in run.ranks],
        start_us=[rank.start_us for rank in run.ranks],
        marked=run.marked,
        step_us=mean_of(run, "step_us"),
        wait_us=mean_of(run, "wait_us"),
        sentence=verdict_sentence(run),
        compute_us=mean_of(run, "compute_us"),
        exposed_communication_us=mean_of(run, "exposed_communication_us"),
        idle_us=mean_of(run, "idle_us"),
        steps=step_names(run),
        stragglers=run.stragglers,
        pipelines=run.pipelines[:LISTED],
        edges_us=EDGES_US.tolist(),
        kinds=_kinds(run.collectives),
        sizes=sizes[:SIZES],
        sizes_left_out=max(len(sizes) - SIZES, 0),
        balance=_balance(run),
        collectives=len(run.collectives),
        unmatched=run.unmatched,
        missing_ranks=run.missing_ranks[:LISTED],
        missing=len(run.missing_ranks),
        unreadable=run.unreadable[:LISTED],
        unreadable_traces=len(run.unreadable),
        clock_spread_us=run.clock_spread_us,
        warnings=run.warnings[:LISTED],
    )


def step_names(run: schema.Run) -> list[str]:
    """Names of the steps of all ranks: in the order of their starts, as far as ranks agree."""
    place: dict[str, int] = {}
    seen: dict[int, int] = defaultdict(int)
    for step in run.steps:
        place[step.name] = max(place.get(step.name, 0), seen[step.rank_id])
        seen[step.rank_id] += 1
    return sorted(place, key=lambda name: (place[name], natural(name)))


def step_matrix(run: schema.Run, quantities: Sequence[str], offset: int) -> schema.StepMatrix:
    """Give quantities of as many steps as fit, from the one at an offset on.

    Raises:
        UsageError: there is no such quantity, or none is asked for.
    """
    unknown = [name for name in quantities if name not in _FIELDS]
    if unknown or not quantities:
        wrong = f"no quantity {unknown[0][:100]!r}" if unknown else "it is missing"
        raise UsageError(f"quantity: {wrong}; there are {', '.join(QUANTITIES)}")
    names, asked = step_names(run), dict.fromkeys(quantities)
    fit = max(CELLS // max(len(asked) * len(run.ranks), 1), 1)
    chosen = names[offset : offset + fit]
    row = {name: place for place, name in enumerate(chosen)}
    values: dict[str, list[list[float | None]]] = {
        quantity: [[None] * len(run.ranks) for _ in chosen] for quantity in asked
    }
    for step in run.steps:
        if (place := row.get(step.name)) is not None:
            for quantity, rows in values.items():
                rows[place][step.rank_id] = getattr(step, _FIELDS[quantity])
    left = max(len(names) - offset - len(chosen), 0)
    return schema.StepMatrix(offset=offset, left_out=left, steps=chosen, values=values)


def _nothing(run: schema.Run) -> str | None:
    """What is to be recorded before the run says who waited for whom; None where it does."""
    if len(run.ranks) == 1:
        return f"one rank only: {_RECORD}"
    if not run.collectives and not run.unmatched:
        return "no collectives in the traces: record whole steps of a run that is distributed"
    return None


def _kinds(collectives: Sequence[schema.Collective]) -> list[schema.CollectiveKind]:
    by_name: dict[str, list[schema.Collective]] = defaultdict(list)
    for row in collectives:
        by_name[row.name].append(row)
    ordered = sorted(by_name.items(), key=lambda item: -sum(row.transfer_us for row in item[1]))
    kinds = []
    for place, (name, rows) in enumerate(ordered):
        sizes = [row.bytes for row in rows if row.bytes is not None]
        transfers, waits = [row.transfer_us for row in rows], [row.wait_us for row in rows]
        kinds.append(
            schema.CollectiveKind(
                id=place,
                name=name,
                count=len(rows),
                bytes=sum(sizes) if sizes else None,
                transfer_us=sum(transfers),
                wait_us=sum(waits),
                transfers=_histogram(transfers),
                waits=_histogram(waits),
            )
        )
    return kinds


def _histogram(times: Sequence[float]) -> list[int]:
    inside = np.clip(times, EDGES_US[0], EDGES_US[-1])
    return [int(number) for number in np.histogram(inside, EDGES_US)[0]]


def _sizes(collectives: Sequence[schema.Collective]) -> list[schema.CollectiveSize]:
    of: dict[tuple[str, int, int], list[tuple[float, float]]] = defaultdict(list)
    for row in collectives:
        if row.bytes is not None and row.bus_gb_per_s is not None:
            of[row.name, row.bytes, row.ranks].append((row.transfer_us, row.bus_gb_per_s))
    ordered = sorted(of.items(), key=lambda item: -len(item[1]))
    return [
        schema.CollectiveSize(
            id=place,
            name=name,
            bytes=size,
            ranks=ranks,
            count=len(times),
            transfer_us=median(transfer for transfer, _ in times),
            bus_gb_per_s=median(rate for _, rate in times),
            max_bus_gb_per_s=max(rate for _, rate in times),
        )
        for place, ((name, size, ranks), times) in enumerate(ordered)
    ]


def _balance(run: schema.Run) -> list[schema.Balance]:
    by_name: dict[tuple[str, str], list[list[int]]] = defaultdict(list)
    for group in run.groups:
        by_name[group.dimension, group.name].append(group.ranks)
    rank = {row.rank: row for row in run.ranks}
    return [
        _balance_of(place, name, dimension, [[rank[r] for r in of] for of in groups])
        for place, ((dimension, name), groups) in enumerate(by_name.items())
    ]


def _balance_of(
    number: int, name: str, dimension: str, groups: Sequence[Sequence[schema.Rank]]
) -> schema.Balance:
    places = [
        [group[place] for group in groups if place < len(group)]
        for place in range(max(map(len, groups)))
    ]
    return schema.Balance(
        id=number,
        name=name,
        dimension=dimension,
        groups=len(groups),
        ranks=[len(rows) for rows in places],
        compute_us=[_mean([row.compute_us for row in rows]) for rows in places],
        communication_us=[_mean([row.communication_us for row in rows]) for rows in places],
        idle_us=[_mean([row.idle_us for row in rows]) for rows in places],
        wait_us=[_mean([row.wait_us for row in rows]) for rows in places],
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
