"""Numbers that link rows to one another, and do not."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.consistency.fault import Fault, counted
from tb_hookview.analysis.device.events import calls_of
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import dense_rank, isin
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.trace import EventCategory

_WAITS_FOR_EVENT = ("Event Sync", "Stream Wait Event")
_COLLECTIVE = "record_param_comms"


def external_id_conflicts(host: HostRows) -> tuple[Fault, ...]:
    """Calls whose `External id` is not that of an operator around them.

    Between late 2021 and early 2024 the field held the call's own correlation id, and collides
    with operators' ids by chance: a file in which most calls do so is not checked, nor any single
    call that does.
    """
    events, kind = host.trace.events, host.kind
    external = events.external[host.call_tree.event]
    own = external == events.correlation[host.call_tree.event]
    calls = (kind == EventCategory.RUNTIME) & (external > 0)
    if 2 * np.count_nonzero(calls & own) > np.count_nonzero(calls):
        return ()
    identified = np.where(kind == EventCategory.RUNTIME, -1, external)
    asked = np.flatnonzero(calls & ~own & isin(external, identified[identified > 0]))
    around = _named_around(host.call_tree, identified, asked, external[asked])
    return counted("external-id", int(np.count_nonzero(~around)))


def shared_numbers(host: HostRows, nodes: Nodes) -> tuple[Fault, ...]:
    """Autograd nodes of different names with the same number of the same forward thread.

    The number names the forward operator of a node, so of these all but one have a wrong one.
    """
    sequence, thread = host.sequence[nodes.row], host.forward_thread[nodes.row]
    numbered = np.flatnonzero((sequence >= 0) & (thread > 0))
    number = dense_rank(thread[numbered], sequence[numbered])
    named = dense_rank(number, host.string[nodes.row[numbered]])
    shared = int(named.max(initial=-1) - number.max(initial=-1))
    if not shared:
        return ()
    return (Fault("shared-number", shared, share=shared / len(numbered)),)


def silent_collectives(host: HostRows) -> tuple[Fault, ...]:
    """Collective calls without sizes, types or ranks."""
    table, events = host.trace.collectives, host.trace.events
    whole = (table.sent >= 0) & (table.received >= 0) & (table.group_size >= 0)
    whole &= np.array([bool(text) for text in table.collective], bool)
    whole &= np.array([bool(text) for text in table.dtype], bool)
    texts = host.trace.strings.texts
    if _COLLECTIVE not in texts:
        return ()
    calls = int(np.count_nonzero(events.name == texts.index(_COLLECTIVE)))
    return counted("silent-collective", calls - int(np.count_nonzero(whole)))


def unlinked_waits(host: HostRows) -> tuple[Fault, ...]:
    """Waits for an event whose recording is not known, or came later than the wait."""
    syncs, trace, tree = host.trace.cuda_syncs, host.trace, host.call_tree
    waits = np.array([kind in _WAITS_FOR_EVENT for kind in syncs.kind], bool)
    start = trace.events.start[syncs.event]
    record = calls_of(trace, tree, syncs.record_correlation, start)
    unknown = int(np.count_nonzero(waits & (record < 0)))
    later = waits & (record >= 0) & (lookup(tree.start, record) > start)
    return (
        *counted("unknown-record", unknown),
        *counted("later-record", int(np.count_nonzero(later))),
    )


def _named_around(call_tree: CallTree, identified: Int, rows: TreeRow, wanted: Int) -> Bool:
    """Whether any row around each of the given rows has the wanted id."""
    found, left, around = np.zeros(len(rows), bool), np.arange(len(rows)), call_tree.parent[rows]
    while len(left):
        going = around >= 0
        left, around = left[going], around[going]
        hit = identified[around] == wanted[left]
        found[left[hit]] = True
        left, around = left[~hit], call_tree.parent[around[~hit]]
    return found
