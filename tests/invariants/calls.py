"""How the time of calls that touch the device divides."""

from __future__ import annotations

import numpy as np
from invariants.case import Case
from invariants.registry import Of, invariant
from support.plain_waits import divisions

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.types import Bool

LONG_US = 1000
"""Length from which on a call has to have a reason."""
_CALLS = ("cuda", "hip", "cu")
"""How names of calls begin that the plain loops know."""


@invariant()
def parts_of_a_call_are_its_length(case: Case) -> None:
    times, tree = case.analysis.call_times, case.analysis.call_tree
    assert (np.diff(times.row) > 0).all()
    parts = np.stack([times.waited, times.transfer, times.own])
    assert (parts >= 0).all()
    assert np.array_equal(parts.sum(axis=0), tree.duration[times.row] + times.before)
    assert ((times.ahead >= 0) | (times.waited == 0) | _onto_full_queue(case)).all()
    assert ((times.copy >= 0) | (times.transfer == 0)).all()


@invariant()
def syncs_and_totals_are_sums_over_their_calls(case: Case) -> None:
    times, syncs = case.analysis.call_times, case.analysis.syncs
    chosen = np.flatnonzero(syncs.of_call >= 0)
    held = (times.waited + times.transfer, syncs.waited + syncs.transfer)
    summed = [np.zeros(len(syncs), np.int64) for _ in range(2)]
    for total, of_call in zip(summed, (held[0], times.waited), strict=True):
        np.add.at(total, syncs.of_call[chosen], of_call[chosen])
    assert np.array_equal(summed[0], held[1])
    assert (syncs.waited <= summed[1]).all()  # the rest of a sync's own copy is its transfer
    assert (syncs.waited + syncs.transfer <= syncs.duration).all()


@invariant(Of.RECORDINGS)
def no_long_call_is_without_a_reason(case: Case) -> None:
    """It waited, a copy ran, or its own work has a name."""
    calls = case.columns("runtime_calls")
    whole = zip(calls["own_us"], calls["duration_us"], strict=True)
    own = [duration if part is None else part for part, duration in whole]
    rows = zip(calls["name"], own, calls["work"], strict=True)
    assert not [(name, own) for name, own, work in rows if own >= LONG_US and work == "other"]


@invariant()
def what_is_idle_for_a_sync_has_one(case: Case) -> None:
    gaps, syncs = case.analysis.gaps, case.analysis.syncs
    mine = gaps.sync[gaps.cause == Cause.SYNC]
    assert ((mine >= 0) & (mine < len(syncs))).all()


@invariant(Of.RECORDINGS)
def every_wait_of_the_replay_is_one_of_a_call(case: Case) -> None:
    """A sync that took a hundredth of a step for the device has an edge from what it waited for."""
    if (simulator := case.simulator).refused:
        return
    graph, syncs = simulator.graph, case.analysis.syncs
    window = simulator.window
    held = syncs.waited + syncs.transfer
    launched = np.append(case.analysis.device_events.launch, -1)[syncs.blocking_event] >= 0
    long = held > 0.01 * simulator.recorded.step
    ends = set(graph.edges.target[graph.edges.kind == EdgeKind.SYNC].tolist())
    for sync, end in zip(graph.sync.tolist(), graph.sync_end.tolist(), strict=True):
        if long[sync] and launched[sync] and syncs.start[sync] >= window.start:
            assert end in ends, case.trace.strings[case.analysis.host.string[syncs.row[sync]]]


@invariant(Of.RECORDINGS)
def calls_divide_as_loops_over_the_file_s_rows_say(case: Case) -> None:
    """Of CUDA and HIP, and no launches."""
    calls, times = case.columns("runtime_calls"), case.analysis.call_times
    launches = np.append(times.onto_full_queue, times.blocking_launch)
    launched = set(case.analysis.call_tree.event[launches])
    columns = (calls[name] for name in ("id", "name", "waited_us", "transfer_us"))
    ours = [
        (waited, transfer)
        for number, name, waited, transfer in zip(*columns, strict=True)
        if waited is not None
        and waited + transfer > 0
        and name.startswith(_CALLS)
        and number not in launched
    ]
    plain = [
        (row.waited, row.transfer)
        for row in divisions(case.events)
        if row.waited + row.transfer > 0
    ]
    assert len(ours) == len(plain)
    assert np.allclose(sorted(ours), sorted(plain), rtol=0, atol=0.01)


def _onto_full_queue(case: Case) -> Bool:
    times = case.analysis.call_times
    return np.isin(times.row, times.onto_full_queue)
