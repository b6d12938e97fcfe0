"""Reads an exported Perfetto trace with protobuf alone, as its viewer does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

from tb_hookview.export import export

Export = Callable[..., "PerfettoFile"]


@dataclass
class Shown:
    """A slice as the viewer shows it; times in nanoseconds."""

    track: int
    name: str
    category: str
    start: int
    arguments: dict[str, Any]
    flows: tuple[int, ...]
    above: Shown | None
    end: int = -1

    @property
    def us(self) -> float:
        return (self.end - self.start) / 1000


@dataclass
class PerfettoFile:
    """Tracks by number, and slices paired as a stack does, by time and order."""

    path: Path
    packets: list[Any] = field(repr=False)

    @cached_property
    def tracks(self) -> dict[int, Any]:
        found = [p.track_descriptor for p in self.packets if p.HasField("track_descriptor")]
        tracks = {descriptor.uuid: descriptor for descriptor in found}
        assert len(tracks) == len(found), "a track number was given twice"
        return tracks

    def name_of(self, track: int) -> str:
        descriptor = self.tracks[track]
        return descriptor.name or descriptor.thread.thread_name or descriptor.process.process_name

    def lane(self, track: int) -> tuple[str, ...]:
        """Names of a track and those above it, from the top."""
        above = self.tracks[track].parent_uuid
        return (*(self.lane(above) if above else ()), self.name_of(track))

    def of(self, category: str) -> list[Shown]:
        return [shown for shown in self.slices if shown.category == category]

    @cached_property
    def slices(self) -> list[Shown]:
        running: dict[int, list[Shown]] = defaultdict(list)
        shown = []
        for time, event in sorted(self._events(), key=lambda pair: pair[0]):
            stack = running[event["track"]]
            if event["ends"]:
                stack.pop().end = time
                continue
            above = stack[-1] if stack else None
            parts = (event[k] for k in ("track", "name", "category"))
            piece = Shown(*parts, time, event["arguments"], event["flows"], above)
            stack.append(piece)
            shown.append(piece)
        assert not any(running.values()), "a slice that never ends"
        return shown

    def _events(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Time and content of each event, with interned texts looked up as they are defined."""
        tables: dict[str, dict[int, str]] = defaultdict(dict)
        defined: dict[str, set[str]] = defaultdict(set)
        assert self.packets[0].sequence_flags == 1
        assert self.packets[0].clock_snapshot.primary_trace_clock == 6
        assert self.packets[0].trace_packet_defaults.timestamp_clock_id == 6
        for packet in self.packets:
            for table, entries in packet.interned_data.ListFields():
                for entry in entries:
                    assert entry.iid not in tables[table.name]
                    text = entry.str.decode() if hasattr(entry, "str") else entry.name
                    assert text not in defined[table.name], "a text was interned twice"
                    defined[table.name].add(text)
                    tables[table.name][entry.iid] = text
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            ends = event.type == messages.TrackEvent.TYPE_SLICE_END
            read: dict[str, Any] = {"ends": ends, "track": event.track_uuid}
            if not ends:
                read["name"] = tables["event_names"][event.name_iid]
                (category,) = event.category_iids
                read["category"] = tables["event_categories"][category]
                read["flows"] = tuple(event.flow_ids)
                read["arguments"] = {
                    tables["debug_annotation_names"][note.name_iid]: _value(note, tables)
                    for note in event.debug_annotations
                }
            assert event.track_uuid in self.tracks
            yield packet.timestamp, read


def _value(note: Any, tables: dict[str, dict[int, str]]) -> Any:
    if note.array_values:
        return [_value(part, tables) for part in note.array_values]
    if note.string_value_iid:
        return tables["debug_annotation_string_values"][note.string_value_iid]
    return note.double_value if note.HasField("double_value") else note.int_value


def read_perfetto(path: Path) -> PerfettoFile:
    trace = messages.Trace()
    trace.ParseFromString(path.read_bytes())
    return PerfettoFile(path, list(trace.packet))


@pytest.fixture
def perfetto(tmp_path: Path) -> Export:
    """Export a trace and read the file back."""

    def run(trace: Path, **options: Any) -> PerfettoFile:
        out = tmp_path / "out.pftrace"
        export(trace, out, force=True, **options)
        return read_perfetto(out)

    return run
