"""Slices to a Perfetto trace: packets made in batches and written as they are made.

A slice is two packets, its begin and its end, and the viewer pairs them as a stack does: on one
track, slices must nest. Rows of a trace may cross. Each track therefore has as many lanes as it
needs: the first is the track itself, the others are tracks next to it. A slice goes to the lane
whose innermost open slice holds it and began last, else to an empty one; never to the first where
it crosses others that stay there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.backward_spans import spans_of_nodes
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE, REASONS
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import pair_key, unique_inverse
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import to_us
from tb_hookview.schema import module_label

Value = str | int | float | list[str]
_BATCH = 2000
"""Packets held before they are written."""
_SEQUENCE = 1
_CLEARED = messages.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
_NEEDED = messages.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
_BEGIN = messages.TrackEvent.TYPE_SLICE_BEGIN
_END = messages.TrackEvent.TYPE_SLICE_END
_CLOCK = messages.BUILTIN_CLOCK_BOOTTIME
"""Perfetto's usual clock; here it stands for the trace's own."""


class Slice(NamedTuple):
    """Something with a start and an end (nanoseconds), as Perfetto shows it."""

    start: int
    end: int
    name: str
    category: str
    arguments: Iterable[tuple[str, Value]] = ()
    flows: Iterable[int] = ()
    """Arrows that begin or end here; slices with a number in common are joined."""


class _Lane:
    """One track of nested slices; `running` holds (start, end) of those not closed yet."""

    def __init__(self, track: int) -> None:
        self.track = track
        self.running: list[tuple[int, int]] = []


class PacketWriter:
    """Writes tracks and slices to an open file.

    Args:
        file: where to; the caller closes it.
        origin: the earliest time of the trace, nanoseconds. Perfetto's times are not negative, so a
            trace with times before 0 is moved to begin there.
        count: called with the number of slices of each batch written.
    """

    def __init__(self, file: IO[bytes], origin: int, count: Callable[[int], None]) -> None:
        self._file = file
        self._shift = -min(origin, 0)
        self._count = count
        self._builder = TraceProtoBuilder()
        self._packets = self._begun = self._tracks = 0
        self._names: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        self._texts: dict[str, int] = {}
        self._first_packet(max(origin, 0))

    def track(self, parent: int | None = None, **fields: Any) -> int:
        """Add a track and give its number; `fields` are those of Perfetto's TrackDescriptor."""
        self._tracks += 1
        descriptor = self._packet().track_descriptor
        descriptor.uuid = self._tracks
        if parent is not None:
            descriptor.parent_uuid = parent
        for name, value in fields.items():
            if isinstance(value, dict):
                for inner, detail in value.items():
                    setattr(getattr(descriptor, name), inner, detail)
            else:
                setattr(descriptor, name, value)
        return self._tracks

    def slices(
        self,
        track: int,
        overflow: Callable[[], int],
        slices: Iterable[Slice],
        leaves: Iterable[bool],
    ) -> None:
        """Write the slices of a track.

        Args:
            track: the track.
            overflow: makes a track for slices that leave it.
            slices: by start, then longest first.
            leaves: of each slice, what `nesting.leaving` says of it.
        """
        lanes = [_Lane(track)]
        for piece, outside in zip(slices, leaves, strict=True):
            for lane in lanes:
                self._close(lane, piece.start)
            found = _fitting(lanes[1:] if outside else lanes, piece)
            if found is None:
                found = _Lane(overflow())
                lanes.append(found)
            found.running.append((piece.start, piece.end))
            self._begin(found.track, piece)
        for lane in lanes:
            self._close(lane, None)

    def finish(self) -> None:
        """Write what is still held."""
        self._file.write(self._builder.serialize())
        self._builder = TraceProtoBuilder()
        self._count(self._begun)
        self._packets = self._begun = 0

    def _first_packet(self, origin: int) -> None:
        packet = self._packet()
        packet.sequence_flags = _CLEARED
        packet.trace_packet_defaults.timestamp_clock_id = _CLOCK
        packet.clock_snapshot.clocks.add(clock_id=_CLOCK, timestamp=origin)
        packet.clock_snapshot.primary_trace_clock = _CLOCK

    def _packet(self) -> Any:
        if self._packets >= _BATCH:
            self.finish()
        self._packets += 1
        packet = self._builder.add_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = _NEEDED
        return packet

    def _close(self, lane: _Lane, time: int | None) -> None:
        """End the slices of a lane that end by a time; all for None."""
        while lane.running and (time is None or lane.running[-1][1] <= time):
            packet = self._packet()
            packet.timestamp = lane.running.pop()[1] + self._shift
            packet.track_event.type = _END
            packet.track_event.track_uuid = lane.track

    def _begin(self, track: int, piece: Slice) -> None:
        packet = self._packet()
        self._begun += 1
        packet.timestamp = piece.start + self._shift
        event = packet.track_event
        event.type = _BEGIN
        event.track_uuid = track
        event.name_iid = _interned(self._names, piece.name, packet, "event_names")
        category = _interned(self._categories, piece.category, packet, "event_categories")
        event.category_iids.append(category)
        if piece.flows:
            event.flow_ids.extend(piece.flows)
        for name, value in piece.arguments:
            note = event.debug_annotations.add()
            note.name_iid = _interned(self._keys, name, packet, "debug_annotation_names")
            self._set(note, value, packet)

    def _set(self, note: Any, value: Value, packet: Any) -> None:
        if isinstance(value, str):
            field = "debug_annotation_string_values"
            note.string_value_iid = _interned(self._texts, value, packet, field)
        elif isinstance(value, bool):
            note.bool_value = value
        elif isinstance(value, int):
            note.int_value = value
        elif isinstance(value, float):
            note.double_value = value
        else:
            for part in value:
                self._set(note.array_values.add(), part, packet)


def _fitting(lanes: list[_Lane], piece: Slice) -> _Lane | None:
    """The lane in which a slice nests, by the slice around it begun last."""
    found, began = None, None
    for lane in lanes:
        if not lane.running:
            found = found or lane
            continue
        start, end = lane.running[-1]
        if end >= piece.end and (began is None or start >= began):
            found, began = lane, start
    return found


def _interned(known: dict[str, int], text: str, packet: Any, table: str) -> int:
    """Number of a text; its first use also defines it."""
    number = known.get(text)
    if number is None:
        number = known[text] = len(known) + 1
        entry = getattr(packet.interned_data, table).add(iid=number)
        if table == "debug_annotation_string_values":
            entry.str = text.encode()
        else:
            entry.name = text
    return number


# The backward pass by module: each thread's node evaluations, wrapped into their modules.
#
#     nodes      [a.1 ][a.1 ][a.0 ]   [a.1 ][?]           module of each
#     lane       [------- a ------]   [- a-]
#                [--- 1 -----][-0-]   [--1-]
#                [    ][     ][   ]   [    ][?]
#
# `analysis/backward_spans.py` says where a module's slice ends.


MODULE, NODE, RECOMPUTE = "hookview.backward", "hookview.node", "hookview.recompute"


def backward_slices(selection: Selection) -> dict[int, list[Slice]]:
    """Slices of the backward pass by thread, in the order that nests them."""
    found: dict[int, list[Slice]] = defaultdict(list)
    for slices in (_modules, _nodes, _calls):
        for thread, piece in slices(selection):
            found[thread].append(piece)
    # Of slices with the same bounds modules come first, and outer ones before inner ones.
    return {t: sorted(f, key=lambda piece: (piece.start, -piece.end)) for t, f in found.items()}


def _modules(selection: Selection) -> Iterator[tuple[int, Slice]]:
    """Spans of modules, each with its thread; nodes within one node are wrapped by themselves."""
    analysis, nodes = selection.analysis, np.flatnonzero(selection.nodes)
    thread = analysis.call_tree.thread[analysis.nodes.row]
    groups, group = unique_inverse(pair_key(thread[nodes], analysis.nodes.around[nodes] + 1))
    for number in range(len(groups)):
        mine = nodes[group == number]
        spans = spans_of_nodes(analysis, mine)
        bounds = zip(spans.start.tolist(), spans.end.tolist(), spans.module.tolist(), strict=True)
        for start, end, module in bounds:
            path = analysis.modules.path[module]
            arguments = (("module", path), ("class", analysis.modules.module_class[module]))
            yield int(thread[mine[0]]), Slice(start, end, module_label(path), MODULE, arguments)


def _nodes(selection: Selection) -> Iterator[tuple[int, Slice]]:
    """Evaluations of nodes, each with its thread."""
    analysis = selection.analysis
    launcher = analysis.device_attribution.node
    launched = selection.device_events & (launcher >= 0)
    lengths = analysis.device_events.duration[launched]
    device = np.bincount(launcher[launched], lengths, len(analysis.nodes)).tolist()
    again = analysis.calls_again.parts
    moved = sum_by(again.index, again.time, len(analysis.nodes)).tolist()
    for node in np.flatnonzero(selection.nodes).tolist():
        row = int(analysis.nodes.row[node])
        arguments = tuple(_of_node(analysis, node, moved[node], device[node]))
        name = node_name(analysis.host.name(row))
        yield _on_thread(analysis, row, name, NODE, arguments)


def _of_node(
    analysis: Analysis, node: int, moved: int, device: float
) -> Iterator[tuple[str, Value]]:
    yield "self_host_us", to_us(analysis.nodes.self_host[node])
    if moved:
        yield "recompute_us", to_us(moved)
    if analysis.launches_known:
        yield "device_us", to_us(device)
    module = int(analysis.attribution.node_module[node])
    if module >= 0:
        yield "module", analysis.modules.path[module]
        yield "evidence", EVIDENCE[int(analysis.attribution.node_evidence[node])]
    else:
        yield "no_module", REASONS[int(analysis.attribution.node_reason[node])]


def _calls(selection: Selection) -> Iterator[tuple[int, Slice]]:
    """Calls of modules within nodes, each with its thread."""
    analysis = selection.analysis
    again = analysis.calls_again
    for call in np.flatnonzero(selection.rows[again.row]).tolist():
        path = analysis.modules.path[int(again.parts.module[call])]
        arguments = (("module", path), ("self_host_us", to_us(again.parts.time[call])))
        label = f"{module_label(path)} again"
        yield _on_thread(analysis, int(again.row[call]), label, RECOMPUTE, arguments)


def _on_thread(
    analysis: Analysis, row: int, name: str, kind: str, arguments: Iterable[tuple[str, Value]]
) -> tuple[int, Slice]:
    tree = analysis.call_tree
    piece = Slice(int(tree.start[row]), int(tree.end[row]), name, kind, arguments)
    return int(tree.thread[row]), piece
