"""A trace file to columns: inflate, decode, intern, convert."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, count, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_hookview.markers import decode_manifest
from tb_hookview.trace.arguments import ARGUMENTS, Argument
from tb_hookview.trace.columns import (
    Bool,
    DeviceProperties,
    Events,
    Flows,
    Index,
    Int,
    Notice,
    StringTable,
    Thread,
    Trace,
)
from tb_hookview.trace.decode import KEY_FIELDS, Event, Root, decode, decode_time_texts
from tb_hookview.trace.inflate import read_bytes
from tb_hookview.trace.times import doubles_are_exact, from_doubles, from_texts
from tb_hookview.trace.vocabulary import (
    CATEGORIES,
    FORWARD_BACKWARD_FLOWS,
    Kind,
    is_annotation_of_old,
)

Progress = Callable[[str, float | None], None]
"""Called with the stage and the fraction of it done, None where it has no measure."""

_RUNTIME_CALL = re.compile(r"(?P<runtime>cuda|hip|ze|ur)[A-Z]\w+")
_place = attrgetter("pid", "tid")


def read_trace(path: str | Path, progress: Progress | None = None) -> Trace:
    """Read a chrome trace of torch.profiler, plain or gzip, of any era.

    Raises:
        TraceError: the file cannot be read, or is no trace.
    """
    say = progress or (lambda _stage, _fraction: None)
    say("inflating", None)
    data = read_bytes(Path(path))
    say("decoding", None)
    root, form = decode(str(path), data)
    say("columns", None)
    return _assemble(str(path), form, data, root)


class _Interner:
    """Gives equal values equal numbers, in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: defaultdict[Any, int] = defaultdict(count().__next__)

    def column(self, values: Iterable[Any], length: int) -> Index:
        return np.fromiter(map(self._numbers.__getitem__, values), np.int32, length)

    def values(self) -> list[Any]:
        return list(self._numbers)


def _assemble(path: str, form: str, data: bytes, root: Root) -> Trace:
    everything = root.traceEvents
    phases = _Interner()
    phase = phases.column(map(attrgetter("ph"), everything), len(everything))
    rows = {text: np.flatnonzero(phase == n) for n, text in enumerate(phases.values())}
    complete, arrows, metadata = (
        np.sort(np.concatenate([rows.get(ph, np.zeros(0, np.int64)) for ph in wanted]))
        for wanted in (("X",), ("s", "f"), ("M",))
    )
    notices: list[Notice] = []
    if root.loose:
        message = "events with a value of unexpected type, kept without it"
        notices.append(Notice("unexpected-type", message, root.loose))
    start, duration = _times(form, data, root, notices)
    places = _Interner()
    events, strings = _events(
        [everything[row] for row in complete], start[complete], duration[complete], places, notices
    )
    flows = _flows(everything, arrows, start, places)
    threads, renumbered = _threads(places, [everything[row] for row in metadata])
    return Trace(
        path=path,
        format=form,
        event_count=len(everything),
        strings=strings,
        events=_with(events, thread=renumbered[events.thread]),
        threads=threads,
        flows=_with(
            flows,
            from_thread=renumbered[flows.from_thread],
            to_thread=renumbered[flows.to_thread],
        ),
        notices=tuple(notices),
        **_head(root, strings),
    )


def _with(columns: Any, **changed: Any) -> Any:
    return type(columns)(**{**vars(columns), **changed})


def _times(form: str, data: bytes, root: Root, notices: list[Notice]) -> tuple[Int, Int]:
    """Start and duration of every event of the file, nanoseconds."""
    events = root.traceEvents
    start = np.fromiter(map(attrgetter("ts"), events), np.float64, len(events))
    duration = np.fromiter(map(attrgetter("dur"), events), np.float64, len(events))
    if doubles_are_exact(start) or root.loose:
        starts, durations = from_doubles(start), from_doubles(duration)
    else:
        texts = decode_time_texts(data, is_list=form == "chrome-list")
        starts, durations = from_texts(texts[0]), from_texts(texts[1])
    negative = int(np.count_nonzero(durations < 0))
    if negative:
        notices.append(Notice("negative-duration", "negative durations, taken as 0", negative))
    return starts, np.maximum(durations, 0)


def _events(
    complete: list[Event],
    start: Int,
    duration: Int,
    places: _Interner,
    notices: list[Notice],
) -> tuple[Events, StringTable]:
    names = _Interner()
    name = names.column(map(attrgetter("name"), complete), len(complete))
    strings = StringTable(tuple(names.values()))
    kind = _kinds(complete, name, strings, notices)
    columns = _arguments(complete, kind)
    untimed = sum(event.ts != event.ts for event in complete) if np.any(start == 0) else 0
    if untimed:
        notices.append(Notice("no-timestamp", "events without a timestamp, taken as 0", untimed))
    events = Events(
        name=name,
        kind=kind,
        start=start,
        duration=duration,
        thread=places.column(map(_place, complete), len(complete)),
        **columns,
    )
    return events, strings


def _kinds(
    complete: list[Event], name: Index, strings: StringTable, notices: list[Notice]
) -> NDArray[np.int8]:
    categories = _Interner()
    category = categories.column(map(attrgetter("cat"), complete), len(complete))
    found = categories.values()
    table = np.array([CATEGORIES.get(text.lower(), Kind.OTHER) for text in found], np.int8)
    for number in np.flatnonzero(table == Kind.OTHER):
        times = int(np.count_nonzero(category == number))
        message = f"events of a category not known here ({found[number][:60]!r}), kept as other"
        notices.append(Notice("unknown-category", message, times))
    kind: NDArray[np.int8] = table[category]
    old = np.array([is_annotation_of_old(text) for text in strings.texts], bool)
    kind[(kind == Kind.OPERATOR) & old[name]] = Kind.ANNOTATION
    return kind


def _arguments(complete: list[Event], kind: NDArray[np.int8]) -> dict[str, Int]:
    """The columns of `ARGUMENTS`; only events of the kinds that carry one are looked at."""
    columns = {}
    for kinds, group in groupby(sorted(ARGUMENTS, key=_kinds_key), key=_kinds_key):
        carries = np.isin(kind, kinds)
        carriers = list(compress(complete, carries.tolist()))
        for argument in group:
            columns[argument.column] = _argument(argument, carriers, carries)
    return columns


def _kinds_key(argument: Argument) -> tuple[int, ...]:
    return tuple(sorted(argument.kinds))


def _argument(argument: Argument, carriers: list[Event], carries: Bool) -> Int:
    column = np.full(len(carries), argument.missing, np.int64)
    for key in reversed(argument.keys):
        field = attrgetter(f"args.{KEY_FIELDS[key]}")
        values = np.fromiter(map(field, carriers), np.int64, len(carriers))
        column[carries] = np.where(values == argument.missing, column[carries], values)
    return column


def _flows(everything: list[Event], arrows: Int, start: Int, places: _Interner) -> Flows:
    linking = [row for row in arrows.tolist() if everything[row].cat in FORWARD_BACKWARD_FLOWS]
    ends = {everything[row].id: row for row in linking if everything[row].ph == "f"}
    pairs = [
        (row, ends[everything[row].id])
        for row in linking
        if everything[row].ph == "s" and everything[row].id in ends
    ]
    tails, heads = ([pair[side] for pair in pairs] for side in (0, 1))
    return Flows(
        from_thread=places.column((_place(everything[row]) for row in tails), len(tails)),
        from_time=start[tails],
        to_thread=places.column((_place(everything[row]) for row in heads), len(heads)),
        to_time=start[heads],
    )


def _threads(places: _Interner, metadata: Sequence[Event]) -> tuple[tuple[Thread, ...], Index]:
    """Bring number and text spellings of a thread together, and name the threads.

    Returns:
        The threads, and for each place the interner knows the index of its thread.
    """
    threads = _Interner()
    spelled = [(str(pid), str(tid)) for pid, tid in places.values()]
    renumbered = threads.column(spelled, len(spelled))
    names = {
        (str(event.pid), str(event.tid)): str(event.args.label)  # type: ignore[attr-defined]
        for event in metadata
        if event.name == "thread_name"
    }
    table = tuple(Thread(pid, tid, names.get((pid, tid), "")) for pid, tid in threads.values())
    return table, renumbered


def _head(root: Root, strings: StringTable) -> dict[str, Any]:
    distributed = root.distributedInfo if isinstance(root.distributedInfo, dict) else {}
    return {
        "devices": _devices(root.deviceProperties),
        "runtime": _runtime(root, strings),
        "rank": _integer(distributed.get("rank")),
        "world_size": _integer(distributed.get("world_size")),
        "manifest": decode_manifest(root.manifest) if isinstance(root.manifest, dict) else None,
    }


def _runtime(root: Root, strings: StringTable) -> str:
    """The vendor's runtime, by the file's header or, where that is silent, by the calls' names."""
    if root.hip_runtime_version is not None or root.roctracer_version is not None:
        return "hip"
    if root.cuda_runtime_version is not None:
        return "cuda"
    calls = (match for text in strings.texts if (match := _RUNTIME_CALL.fullmatch(text)))
    return next((match["runtime"] for match in calls), "")


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _devices(properties: object) -> tuple[DeviceProperties, ...]:
    listed = properties if isinstance(properties, list) else []
    return tuple(
        DeviceProperties(number, str(entry.get("name") or ""))
        for entry in listed
        if isinstance(entry, dict) and (number := _integer(entry.get("id"))) is not None
    )
