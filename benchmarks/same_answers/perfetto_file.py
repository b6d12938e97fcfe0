"""Reads an exported Perfetto trace with protobuf, as columns by track."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

Tracks = dict[str, dict[str, list[Any]]]


class Slice(NamedTuple):
    """A slice; times in nanoseconds."""

    begin: int
    minus_end: int
    name: str
    category: str
    flows: int
    arguments: dict[str, Any]


def read_tracks(path: Path) -> Tracks:
    """Slices by name of their track, in the order of time, as one list a field.

    Ids of tracks, packets and interned texts do not show in it.
    """
    trace = messages.Trace.FromString(path.read_bytes())
    descriptors = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet}
    slices: dict[str, list[Slice]] = defaultdict(list)
    for track, found in _slices(trace.packet):
        slices[_name(track, descriptors)].append(found)
    return {name: _as_columns(rows) for name, rows in slices.items()}


def _name(track: int, descriptors: dict[int, Any]) -> str:
    """Names of a track and those around it, from the top."""
    names: list[str] = []
    while track:
        found = descriptors[track]
        name = found.name or found.thread.thread_name or found.process.process_name
        names.append(name)
        track = found.parent_uuid
    return " / ".join(reversed(names))


def _as_columns(rows: list[Slice]) -> dict[str, list[Any]]:
    rows.sort(key=lambda row: row[:4])
    columns: dict[str, list[Any]] = {
        "begin": [row.begin for row in rows],
        "end": [-row.minus_end for row in rows],
        "name": [row.name for row in rows],
        "category": [row.category for row in rows],
        "flows": [row.flows for row in rows],
    }
    for name in dict.fromkeys(name for row in rows for name in row.arguments):
        columns[f"argument {name}"] = [row.arguments.get(name) for row in rows]
    return columns


def _slices(packets: Any) -> Iterator[tuple[int, Slice]]:
    """Track and content of each slice; begins and ends are paired as a stack does."""
    texts: dict[tuple[int, str], dict[int, str]] = defaultdict(dict)
    open_slices: dict[int, list[Any]] = defaultdict(list)
    for packet in sorted(_with_texts(packets, texts), key=lambda packet: packet[0]):
        begin, track, event = packet
        if event is None:
            first, name, category, flows, arguments = open_slices[track].pop()
            yield track, Slice(first, -begin, name, category, flows, arguments)
        else:
            open_slices[track].append((begin, *event))


def _with_texts(packets: Any, texts: Any) -> Iterator[tuple[int, int, Any]]:
    """Time, track and content of each event, with interned texts looked up in the file's order."""
    for packet in packets:
        sequence = packet.trusted_packet_sequence_id
        for table, entries in packet.interned_data.ListFields():
            known = texts[sequence, table.name]
            for entry in entries:
                known[entry.iid] = entry.str.decode() if hasattr(entry, "str") else entry.name
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        if event.type == messages.TrackEvent.TYPE_SLICE_END:
            yield packet.timestamp, event.track_uuid, None
            continue
        name = event.name or texts[sequence, "event_names"].get(event.name_iid, "")
        categories = [texts[sequence, "event_categories"][iid] for iid in event.category_iids]
        arguments = {
            note.name or texts[sequence, "debug_annotation_names"][note.name_iid]: _value(
                note, texts[sequence, "debug_annotation_string_values"]
            )
            for note in event.debug_annotations
        }
        content = (name, ",".join([*event.categories, *categories]), len(event.flow_ids), arguments)
        yield packet.timestamp, event.track_uuid, content


def _value(note: Any, texts: dict[int, str]) -> Any:
    if note.array_values:
        return [_value(part, texts) for part in note.array_values]
    if note.string_value_iid:
        return texts[note.string_value_iid]
    for kind in ("double_value", "string_value", "bool_value", "uint_value"):
        if note.HasField(kind):
            return getattr(note, kind)
    return note.int_value
