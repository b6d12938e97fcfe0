"""A trace file to columns: piece by piece, so that only columns are held for long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tb_hookview.errors import TraceError
from tb_hookview.progress import Count, Progress, silent, uncounted
from tb_hookview.trace.columns.builder import Builder
from tb_hookview.trace.columns.part import Told
from tb_hookview.trace.columns.trace import DeviceProperties, StringTable, Trace
from tb_hookview.trace.coworker import Coworker, coworker_for
from tb_hookview.trace.format.decode import Head
from tb_hookview.trace.format.manifest import read_manifest
from tb_hookview.trace.source import limits
from tb_hookview.trace.source.damage import Damages
from tb_hookview.trace.text.pieces import Piece, Root, Share, UncuttableError, cut, root_of, whole

_AGAIN = "record the run again"
_RUNTIME_CALL = re.compile(r"(?P<runtime>cuda|hip|ze|ur)[A-Z]\w+")


def read_trace(
    path: str | Path, progress: Progress | None = None, count: Count = uncounted
) -> Trace:
    """Read a chrome trace of torch.profiler, plain or gzip, of any era.

    What `progress` or `count` raises ends the reading.

    Raises:
        TraceError: the file cannot be read, or is no trace.
    """
    say = progress or silent
    say("decoding", 0.0)
    try:
        builder, root, damages = _read(Path(path), say, count)
    except UncuttableError:
        builder, root, damages = _built(whole(Path(path)), count)
    if damages and not builder.event_count:
        raise TraceError(path, f"damaged or cut off before any event: {damages.problem()}", _AGAIN)
    if not builder.any_phase and (builder.event_count or root.head is None):
        reason = "JSON, but no PyTorch trace: its events have no phase (`ph`)"
        raise TraceError(path, reason, "name a file that torch.profiler wrote")
    say("columns", None)
    return _trace(str(path), builder, root, damages)


def _read(path: Path, say: Progress, count: Count) -> tuple[Builder, Root, Damages]:
    with coworker_for(path) as helped:
        if helped and (read := _read_together(path, *helped, say, count)):
            return *read, Damages()
    return _built(cut(path, say), count)


def _read_together(
    path: Path, coworker: Coworker, first: int, blocks: int, say: Progress, count: Count
) -> tuple[Builder, Root] | None:
    """Decode the blocks before `first`, then take what the coworker made of the others.

    None where any of the file is damaged, or the coworker failed.
    """
    builder, damages = Builder(), Damages()

    def say_own(stage: str, done: float | None) -> None:
        say(stage, min(done or 0.0, first / blocks))

    root = _add(cut(path, say_own, share=Share(0, first)), builder, damages, count)
    if root:  # it is shorter than it looked
        return None if damages else (builder, root)
    own = builder.event_count
    for message in () if damages else coworker.messages():
        try:
            told = msgspec.msgpack.decode(message, type=Told)
        except msgspec.DecodeError:
            return None
        say("decoding", min(1.0, (first + (blocks - first) * told.done) / blocks))
        count(own + told.events)
        if told.part:
            builder.absorb(told.part)
            limits.EVENTS.hold(path, builder.event_count)
            return builder, root_of(told.head)
    return None


def _built(parts: Iterable[Piece | Root], count: Count) -> tuple[Builder, Root, Damages]:
    builder, damages = Builder(), Damages()
    root = _add(parts, builder, damages, count)
    assert root, "a root comes last"
    return builder, root, damages


def _add(
    parts: Iterable[Piece | Root], builder: Builder, damages: Damages, count: Count
) -> Root | None:
    """Take events until the root comes, if it comes, and note what was repaired of them."""
    for part in parts:
        if isinstance(part, Root):
            damages.add(part.damages)
            return part
        damages.add(part.damages, builder.event_count)
        builder.add(part)
        count(builder.event_count)
        del part  # before the next is decoded, which then takes its memory
    return None


def _trace(path: str, builder: Builder, root: Root, damages: Damages) -> Trace:
    columns = builder.finish()
    columns["notices"] = (*damages.notices(), *columns["notices"])
    return Trace(
        path=path,
        format=root.format,
        event_count=builder.event_count,
        **_head(root.head, columns["strings"]),
        **columns,
    )


def _head(head: Head | None, strings: StringTable) -> dict[str, Any]:
    distributed = head.distributedInfo if head else None
    place = distributed if isinstance(distributed, dict) else {}
    manifest = read_manifest(head.manifest if head else None)
    return {
        "devices": tuple(_devices(head.deviceProperties if head else None)),
        "runtime": _runtime(head, strings),
        "rank": _first_integer(place.get("rank"), manifest and manifest.rank),
        "world_size": _first_integer(place.get("world_size"), manifest and manifest.world_size),
        "manifest": manifest,
    }


def _runtime(head: Head | None, strings: StringTable) -> str:
    """The vendor's runtime, by the file's head or, where that is silent, by the calls' names."""
    if head and (head.hip_runtime_version is not None or head.roctracer_version is not None):
        return "hip"
    if head and head.cuda_runtime_version is not None:
        return "cuda"
    calls = (match for text in strings.texts if (match := _RUNTIME_CALL.fullmatch(text)))
    return next((match["runtime"] for match in calls), "")


def _first_integer(*values: object) -> int | None:
    return next((number for value in values if (number := _integer(value)) is not None), None)


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _devices(properties: object) -> Iterator[DeviceProperties]:
    for entry in properties if isinstance(properties, list) else []:
        if isinstance(entry, dict) and (number := _integer(entry.get("id"))) is not None:
            major, minor = (_integer(entry.get(key)) for key in ("computeMajor", "computeMinor"))
            yield DeviceProperties(
                number,
                str(entry.get("name") or ""),
                None if major is None else (major, minor or 0),
                _integer(entry.get("totalGlobalMem")) or None,
                _integer(entry.get("numSms")) or None,
            )
