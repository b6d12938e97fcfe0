"""Summaries of ranks to the answer about a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, count
from typing import Any

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.collectives.calls import BUS_FACTOR
from tb_hookview.arrays.types import Float, Int, Nanoseconds, microseconds
from tb_hookview.ranks.findings import FindingsOf, Lateness, find_finding
from tb_hookview.ranks.fixes import Fixes, step_waits
from tb_hookview.ranks.late import Episode, find_episodes
from tb_hookview.ranks.lateness import Waits, find_waits
from tb_hookview.ranks.map.summary import RankSummary, TimesOf
from tb_hookview.ranks.matching import Clocks, Matched, find_groups
from tb_hookview.ranks.members import Members, unmatched_steps
from tb_hookview.ranks.pipelines import SlowPass, find_pipelines, pipeline_row, slow_passes
from tb_hookview.ranks.stages import unpaired
from tb_hookview.ranks.stragglers import (
    SlowOf,
    Straggling,
    compare_ranks,
    find_stragglers,
    find_suspect,
    remarks,
    without_collectives,
)

_US = 1000.0
_EXPLAINED = 1 / 4
"""Part of what is to be explained that a cause takes at least, to be named."""


def answer(
    path: str,
    ranks: Sequence[RankSummary],
    matched: Matched,
    times: TimesOf,
    unreadable: Mapping[str, str],
    findings_of: FindingsOf = lambda _rank: (),
) -> schema.Run:
    """Answer what is asked of a run.

    Args:
        path: the run.
        ranks: summaries in order of their ranks.
        matched: their collectives, matched.
        times: what each spent its time on.
        unreadable: reasons by path.
        findings_of: asks for a rank's.
    """
    members, spread = matched.members, _spread(matched.clocks.spread)
    waits, numbers = find_waits(members), _numbers(ranks)
    episodes = find_episodes(ranks, times, members, waits.last)
    fixes, compared = Fixes(ranks, times, matched, waits), compare_ranks(ranks, members)
    step_rows = _step_rows(ranks, members, waits, _unknown(ranks, members, times))
    pipelines = find_pipelines(ranks, numbers)
    slow_of = _slow_of(ranks, pipelines)
    stragglers = find_stragglers(compared, fixes, slow_of)
    suspect = find_suspect(compared, fixes, stragglers)
    named = stragglers or ([] if suspect is None else [suspect.straggling])
    left_out = [schema.UnreadableRank(path=at, reason=why) for at, why in unreadable.items()]
    rank_rows = [
        _rank_row(place, number, rank, rows, matched.clocks)
        for place, (number, rank, rows) in enumerate(zip(numbers, ranks, step_rows, strict=True))
    ]
    return schema.Run(
        path=path,
        world_size=_world_size(ranks),
        ranks=rank_rows,
        steps=list(chain.from_iterable(step_rows)),
        collectives=_collective_rows(ranks, matched, waits, fixes.new_waits, episodes),
        stragglers=[
            _straggler_row(place, found, numbers, findings_of, slow_of(found.rank))
            for place, found in enumerate(named)
        ],
        groups=find_groups(ranks, numbers),
        pipelines=[
            pipeline_row(place, ranks, stages, numbers, rank_rows)
            for place, stages in enumerate(pipelines)
        ],
        missing_ranks=sorted(set(range(_world_size(ranks) or 0)) - set(numbers)),
        unreadable=left_out,
        unmatched=matched.unmatched,
        clock_spread_us=spread,
        warnings=[*matched.refused, *remarks(ranks, numbers, compared, spread, suspect)],
        replay_error=fixes.error,
        suspect=None if suspect is None else numbers[suspect.straggling.rank],
        suspect_wait_us=None if suspect is None else suspect.straggling.late / _US,
        marked=any(rank.steps.marked for rank in ranks),
    )


def _slow_of(ranks: Sequence[RankSummary], pipelines: Sequence[Sequence[int]]) -> SlowOf:
    @cache
    def slow_of(place: int) -> list[SlowPass]:
        mine = next((stages for stages in pipelines if place in stages), [])
        return slow_passes(ranks, mine, place)

    return slow_of


def _numbers(ranks: Sequence[RankSummary]) -> list[int]:
    """Number of each rank; where traces do not say, or two say the same, their order."""
    own = [rank.rank for rank in ranks]
    known = [number for number in own if number is not None]
    return known if len(set(known)) == len(ranks) else list(range(len(ranks)))


def _world_size(ranks: Sequence[RankSummary]) -> int | None:
    return next((rank.world_size for rank in ranks if rank.world_size), None)


def _rank_row(
    place: int, number: int, rank: RankSummary, rows: Sequence[schema.RankStep], clocks: Clocks
) -> schema.Rank:
    counted = np.flatnonzero(rank.steps.counted).tolist()

    def mean(column: str) -> float | None:
        times = [getattr(rows[step], column) for step in counted]
        known = [time for time in times if time is not None]
        return float(np.mean(known)) if known else None

    return schema.Rank(
        id=place,
        rank=number,
        path=rank.path,
        start_us=rank.start / _US,
        steps=len(counted),
        step_us=mean("duration_us"),
        compute_us=mean("compute_us"),
        communication_us=mean("communication_us"),
        exposed_communication_us=mean("exposed_communication_us"),
        idle_us=mean("idle_us"),
        wait_us=mean("wait_us"),
        clock_offset_us=_known(clocks.offset[place]),
        clock_spread_us=_known(clocks.spread[place]),
    )


def _known(time: float) -> float | None:
    return None if np.isnan(time) else float(time) / _US


def _unknown(
    ranks: Sequence[RankSummary], members: Members, times: TimesOf
) -> list[Mapping[str, None]]:
    """Columns of the steps of each rank that the traces do not hold."""
    matched = len(members) > 0 or sum(bool(unpaired(rank)) for rank in ranks) > 1
    on_device = any(rank.collectives.on_device.any() for rank in ranks)
    lacking = set(without_collectives(ranks))
    shown = any(len(rank.collectives) for rank in ranks)
    alone = len(ranks) == (_world_size(ranks) or 1) == 1
    unknown: list[Mapping[str, None]] = []
    for place in range(len(ranks)):
        columns = [] if matched and place not in lacking else ["wait_us"]
        if place in lacking or not (shown or alone):
            columns += ["communication_us", "exposed_communication_us"]
        if place in lacking:
            columns.append("idle_us")
            if on_device and not len(times(place).device.window):
                columns.append("compute_us")
        unknown.append(dict.fromkeys(columns))
    return unknown


def _step_rows(
    ranks: Sequence[RankSummary],
    members: Members,
    waits: Waits,
    unknown: Sequence[Mapping[str, None]],
) -> list[list[schema.RankStep]]:
    """Rows of the steps of each rank, numbered over all."""
    number, rows = count(), []
    unmatched = unmatched_steps(ranks, members)
    waited = step_waits(ranks, members, waits.alone)
    for place, (rank, wait) in enumerate(zip(ranks, waited, strict=True)):
        steps = rank.steps
        columns = {
            "start_us": steps.start,
            "duration_us": steps.duration,
            "compute_us": steps.compute,
            "communication_us": steps.communication,
            "exposed_communication_us": steps.exposed,
            "idle_us": steps.idle,
            "wait_us": wait,
        }
        us: list[dict[str, Any]] = [
            {**dict(zip(columns, times, strict=True)), **unknown[place]}
            for times in zip(*map(microseconds, columns.values()), strict=True)
        ]
        for at in np.flatnonzero(unmatched[place]).tolist():
            us[at]["wait_us"] = None
        of_step = zip(steps.name, steps.counted.tolist(), us, strict=True)
        rows.append(
            [
                schema.RankStep(id=next(number), rank_id=place, name=name, counts=counts, **times)
                for name, counts, times in of_step
            ]
        )
    return rows


def _collective_rows(
    ranks: Sequence[RankSummary],
    matched: Matched,
    waits: Waits,
    new: Nanoseconds,
    episodes: Sequence[Episode],
) -> list[schema.Collective]:
    of = {episode.collective: episode for episode in episodes}
    numbers, members = _numbers(ranks), matched.members
    sizes, newly = _sizes(ranks, members), members.mean_of_others(new)
    started = members.start - np.nan_to_num(matched.clocks.offset)[members.rank]
    rows = []
    for place in range(len(members)):
        mine, last = members.of(place), int(waits.last[place])
        rank, index = ranks[members.rank[mine.start]], int(members.index[mine.start])
        calls, step = rank.collectives, int(rank.step[index])
        episode = of.get(place)
        kind, path = _reason_of(episode, float(newly[place]))
        number = int(calls.number[index])
        size = int(sizes[mine].max())
        transfer = int(waits.transfer[place])
        taking_part = mine.stop - mine.start
        in_group = int(calls.ranks[index]) if calls.ranks[index] > 0 else taking_part
        rows.append(
            schema.Collective(
                id=place,
                name=calls.kind[index],
                group=calls.group[index],
                sequence=number if number >= 0 else place,
                step=rank.steps.name[step] if step >= 0 else None,
                bytes=size if size >= 0 else None,
                ranks=taking_part,
                start_us=float(started[mine].min()) / _US,
                transfer_us=transfer / _US,
                wait_us=float(waits.caused[place]) / _US,
                new_wait_us=float(newly[place]) / _US,
                late_rank=numbers[members.rank[last]] if last >= 0 else None,
                late_start_us=float(members.start[last]) / _US if last >= 0 else None,
                late_module=path if kind == "module" else None,
                late_reason=kind,
                late_by_us=episode.late_by / _US if episode else None,
                bus_gb_per_s=_bandwidth(calls.kind[index], size, transfer, in_group),
            )
        )
    return rows


def _sizes(ranks: Sequence[RankSummary], members: Members) -> Int:
    """Bytes of each member, -1 for unknown; shape (n,)."""
    sizes = np.empty(len(members.rank), np.int64)
    for rank, mine in zip(ranks, members.of_ranks(len(ranks)), strict=True):
        sizes[mine] = rank.collectives.bytes[members.index[mine]]
    return sizes


def _reason_of(episode: Episode | None, waited: float) -> tuple[str | None, str | None]:
    """Kind and path of the largest reason, where it explains some of a new wait.

    Else it is the host's, where the device waited for its launches.
    """
    if episode is None:
        return None, None
    least = _EXPLAINED * waited
    if episode.reasons:
        reason, excess = max(episode.reasons.items(), key=lambda item: item[1])
        if excess > least:
            return reason
    return ("host", None) if episode.starved > least else (None, None)


def _bandwidth(kind: str, size: int, transfer: int, ranks: int) -> float | None:
    """Bus bandwidth, 10^9 bytes per second: bytes per nanosecond."""
    factor = BUS_FACTOR.get(kind)
    if factor is None or size <= 0 or transfer <= 0 or ranks < 2:
        return None
    return size / transfer * factor(ranks)


def _straggler_row(
    place: int,
    found: Straggling,
    numbers: Sequence[int],
    findings_of: FindingsOf,
    slow: Sequence[SlowPass],
) -> schema.Straggler:
    reasons = [
        schema.StragglerReason(
            reason=kind,
            module=path if kind == "module" else None,
            phase=found.phases[path] if kind == "module" else None,
            excess_us=excess / _US,
        )
        for (kind, path), excess in found.excess.items()
        if sum(found.excess.values()) >= _EXPLAINED * found.late
    ]
    first = reasons[0] if reasons else None
    least = _EXPLAINED * found.late
    finding = None
    if first is not None and first.excess_us * _US > least:
        late = Lateness(found.rank, next(iter(found.excess)), found.on_device, least / _US)
        finding = find_finding(late, len(numbers), findings_of)
    return schema.Straggler(
        id=place,
        rank=numbers[found.rank],
        wait_caused_us=found.late / _US,
        share=found.share,
        steps=found.steps,
        of_steps=found.of_steps,
        module=first.module if first else None,
        reason=first.reason if first else None,
        excess_us=first.excess_us if first else None,
        reasons=reasons,
        stage=_stage_work(found, slow),
        gain_us_per_step=found.gain / _US,
        left_step_us=found.left / _US,
        finding=finding,
        sure=found.is_sure,
    )


def _stage_work(found: Straggling, slow: Sequence[SlowPass]) -> schema.StageWork | None:
    """What a straggler that is a stage of a pipeline works longer on."""
    least = _EXPLAINED * sum(found.excess.values())
    return slow[0].work if slow and slow[0].excess > least else None


def _spread(spread: Float) -> float | None:
    known = spread[1:]
    if not len(known) or np.isnan(known).any():
        return None
    return float(known.max()) / _US
