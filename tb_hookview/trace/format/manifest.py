"""The recorder's manifest, decoded once, as far as it has the shape that we know.

A file may hold anything under the manifest's key. A value of an unexpected type counts as absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tb_hookview.markers import decode_manifest

_LISTS = ("modules", "shared")
"""Members as long as the model is large."""
_LONGEST_US = 1e6
"""No mark costs more; a number above it was not written by the recorder."""
_LONGEST_STEP_US = 1e12


class ListedModule(Struct, frozen=True):
    """One module, as `named_modules()` of the recorded model names it."""

    path: str
    module_class: str = ""
    file: str = ""
    """Source line of its class, "" for unknown."""
    line: int | None = None
    parameters: int | None = None
    """Elements of its own parameters, None where the file has no such number."""
    bytes: int = 0
    trainable: bool = False
    compiled: bool = False
    """Whether it is a part of a module that was compiled as a whole."""
    marked: bool = True
    """Whether the recorder was to mark its calls."""


class SharedParameter(Struct, frozen=True):
    """A parameter of a module that also is a parameter of another one, its owner."""

    path: str
    """The module."""
    parameter: str
    owner: str
    owner_parameter: str


class Processor(Struct, frozen=True):
    """The processor as the recorded process could use it."""

    threads: int
    """Of torch's operators."""
    cores: float
    processes: int
    """Of the run on that machine."""


class Manifest(Struct, frozen=True):
    """Facts that the recorder wrote about itself and the model."""

    content: dict[str, Any]
    """All members as they are, but the lists of modules and of shared parameters."""
    version: int | None
    """Version of the mark format."""
    torch: str | None
    rank: int | None
    world_size: int | None
    markers: tuple[str, ...]
    """Marks that were left, by the values of the recorder's option."""
    cost_us: dict[str, float | None]
    """Host time of one mark of each kind, microseconds; None if not a time."""
    roots: tuple[str, ...]
    """Paths of the modules recorded."""
    modules: tuple[ListedModule, ...]
    """In `named_modules()` order."""
    shared: tuple[SharedParameter, ...]
    compiled: tuple[str, ...] = ()
    """Paths of roots that were compiled after they were wrapped."""
    recorded_us: tuple[float, ...] = ()
    """Durations of the steps that were recorded."""
    unrecorded_us: tuple[float, ...] = ()
    """Durations of steps before, that were not."""
    on_host: bool = False
    """Whether the parameters are on the CPU, or nowhere that is noted and no device was used."""
    on_device: bool = False
    """Whether some parameters are on a device that is not the CPU."""
    host: Processor | None = None
    layouts: tuple[str, ...] = ()
    """Memory formats of the weights of convolutions: "contiguous", "channels_last"."""


def read_manifest(raw: object) -> Manifest | None:
    """Decode what a file has under the manifest's key; None where that is no manifest."""
    try:
        found = decode_manifest(raw) if isinstance(raw, dict) else {}
    except RecursionError:  # nested without end: not written by the recorder
        return None
    return _manifest(found) if found else None


def _manifest(found: dict[str, Any]) -> Manifest:
    roots, costs = found.get("roots"), found.get("cost_us")
    return Manifest(
        content={key: value for key, value in found.items() if key not in _LISTS},
        version=whole_number(found.get("version")),
        torch=_text(found.get("torch")),
        rank=whole_number(found.get("rank")),
        world_size=whole_number(found.get("world_size")),
        markers=_texts(found.get("markers")),
        cost_us={k: _time(v) for k, v in costs.items()} if isinstance(costs, dict) else {},
        roots=tuple(map(str, roots)) if isinstance(roots, list) else (),
        modules=tuple(_module(entry) for entry in _entries(found.get("modules"))),
        shared=tuple(_shared(entry) for entry in _entries(found.get("shared"))),
        compiled=_texts(found.get("compiled")),
        recorded_us=_step_times(found, "recorded_us"),
        unrecorded_us=_step_times(found, "unrecorded_us"),
        on_host=_on_host(found),
        on_device=not _devices_of(found) <= _NO_DEVICE,
        host=_processor(found.get("host")),
        layouts=_texts(found.get("layouts")),
    )


def _processor(found: object) -> Processor | None:
    entry = found if isinstance(found, dict) else {}
    threads, processes = _size(entry.get("threads")), _size(entry.get("processes"))
    cores = _time(entry.get("cores"))
    return Processor(threads, cores, processes) if threads and cores and processes else None


_NO_DEVICE = frozenset({"cpu", "meta"})


def _devices_of(found: dict[str, Any]) -> set[str]:
    """Where parameters are."""
    device = found.get("device")
    return set(_texts(device.get("parameters"))) if isinstance(device, dict) else set()


def _on_host(found: dict[str, Any]) -> bool:
    known = _devices_of(found)
    return known == {"cpu"} or (found.get("only_cpu") is True and known <= _NO_DEVICE)


def _entries(listed: object) -> Iterator[dict[str, Any]]:
    """Entries of a list that have a path."""
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("path"), str):
            yield entry


def _module(entry: dict[str, Any]) -> ListedModule:
    return ListedModule(
        path=entry["path"],
        module_class=_text(entry.get("class")) or "",
        file=_text(entry.get("file")) or "",
        line=whole_number(entry.get("line")),
        parameters=_size(entry["parameters"]) if "parameters" in entry else None,
        bytes=_size(entry.get("bytes")),
        trainable=entry.get("trainable") is True,
        compiled=entry.get("compiled") is True,
        marked=entry.get("marked") is not False,
    )


def _shared(entry: dict[str, Any]) -> SharedParameter:
    keys = ("parameter", "owner", "owner_parameter")
    return SharedParameter(entry["path"], *(str(entry.get(key, "")) for key in keys))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def whole_number(value: object) -> int | None:
    """Return what is a whole number of JSON; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _size(value: object) -> int:
    return max(whole_number(value) or 0, 0)


def _time(value: object, longest: float = _LONGEST_US) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0 <= value <= longest else None  # type: ignore


def _step_times(found: dict[str, Any], kind: str) -> tuple[float, ...]:
    steps = found.get("steps")
    listed = steps.get(kind) if isinstance(steps, dict) else None
    times = (_time(each, _LONGEST_STEP_US) for each in (listed if isinstance(listed, list) else []))
    return tuple(time for time in times if time)
