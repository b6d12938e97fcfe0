"""Kind of each kernel, copy and set, by its name.

Names are compared with the patterns of `kernel_kinds.json`, where new ones are to be added.
A pattern is text that the name, in lower case, holds; `^` at its beginning means that the name
begins so, and `*` stands for anything in between. The first pattern that fits decides. Where no
pattern fits a kernel, the names of the operators that launched it decide, innermost first. The
softmax between two batched products is attention.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.device.unfused_attention import softmax_of_attention
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import isin, unique_inverse
from tb_hookview.arrays.types import Bool, Code, Int, TreeRow
from tb_hookview.schema.terms import KINDS
from tb_hookview.trace import EventCategory

ATTENTION = KINDS.index("attention")
COMMUNICATION = KINDS.index("communication")
OTHER = KINDS.index("other")
_ON_TENSOR_CORES = frozenset({"matrix", "convolution", "attention"})
"""Kinds that tensor cores can do; the others never run on them."""
_CACHED = 4096
"""Names; the traces of one run hold the same ones."""
_LONGEST = 200
"""Characters of a name that are compared: what follows is types of arguments."""


class DeviceEventKinds(Struct, frozen=True):
    """Kind of each device event, shape (d,)."""

    kind: Int
    """Index into KINDS."""
    tensor_core: Code
    """1 on tensor (matrix) cores, 0 not on them, -1 for unknown."""
    unfused: Bool
    """Softmax kernels between two batched products: of kind attention, and no product itself."""


class _Rule(Struct, frozen=True):
    """The patterns of one verdict."""

    verdict: Any
    anywhere: tuple[str, ...]
    """Plain texts: nearly all patterns are, and these are the quickest to look for."""
    at_start: tuple[str, ...]
    in_order: tuple[tuple[str, ...], ...]
    """Texts that a name holds one after another; it begins with the first after a `^`."""

    def fits(self, name: str) -> bool:
        """Whether a name in lower case is meant."""
        if name.startswith(self.at_start):
            return True
        for text in self.anywhere:  # a loop, at half the time of any()
            if text in name:
                return True
        return any(_hold_in_order(name, texts) for texts in self.in_order)


class _Knowledge(Struct, frozen=True):
    kernels: tuple[_Rule, ...]
    operators: tuple[_Rule, ...]
    tensor_core: tuple[_Rule, ...]


@cache
def _knowledge() -> _Knowledge:
    text = (Path(__file__).parent / "kernel_kinds.json").read_text(encoding="utf-8")
    return _Knowledge(
        **{
            name: tuple(_rule(*entry) for entry in listed)
            for name, listed in json.loads(text).items()
        }
    )


def _rule(verdict: Any, patterns: Sequence[str]) -> _Rule:
    plain = [pattern for pattern in patterns if "*" not in pattern]
    return _Rule(
        verdict,
        anywhere=tuple(pattern for pattern in plain if pattern[0] != "^"),
        at_start=tuple(pattern[1:] for pattern in plain if pattern[0] == "^"),
        in_order=tuple(tuple(p.split("*")) for p in patterns if "*" in p),
    )


def _hold_in_order(name: str, texts: Sequence[str]) -> bool:
    first, place = texts[0], 0
    if first[:1] == "^":
        if not name.startswith(first[1:]):
            return False
        place, texts = len(first) - 1, texts[1:]
    for text in texts:
        place = name.find(text, place)
        if place < 0:
            return False
        place += len(text)
    return True


def _verdict(rules: Sequence[_Rule], name: str) -> Any:
    return next((rule.verdict for rule in rules if rule.fits(name)), None)


@lru_cache(_CACHED)
def kind_of_kernel(name: str) -> str | None:
    """Kind by the name of a kernel; None for unknown."""
    kind = _verdict(_knowledge().kernels, _plain(name))
    return None if kind is None else str(kind)


@lru_cache(_CACHED)
def kind_of_operator(name: str) -> str | None:
    """Kind by the name of an operator or annotation; None for unknown."""
    kind = _verdict(_knowledge().operators, name.lower())
    return None if kind is None else str(kind)


@lru_cache(_CACHED)
def on_tensor_cores(name: str, kind: str) -> bool | None:
    """Whether a kernel of this name and kind runs on tensor cores; None for unknown."""
    if kind == "other":
        return None
    if kind not in _ON_TENSOR_CORES:
        return False
    verdict = _verdict(_knowledge().tensor_core, name.lower().removeprefix("void "))
    return None if verdict is None else bool(verdict)


def _plain(name: str) -> str:
    return name[:_LONGEST].lower().removeprefix("void ")


def device_event_kinds(host: HostRows, device_events: DeviceEvents) -> DeviceEventKinds:
    """Kind of every device event; each distinct name is compared once."""
    names, events = host.trace.strings, host.trace.events
    pair = events.name[device_events.event].astype(np.int64) * len(EventCategory)
    pair += events.kind[device_events.event]
    distinct, place = unique_inverse(pair)
    by_name = [
        _kind_of(names[p // len(EventCategory)], EventCategory(p % len(EventCategory)))
        for p in distinct.tolist()
    ]
    kind = np.array([KINDS.index(name) for name in by_name], np.int64)[place]
    _use_operators(host, device_events, kind)
    tensor_core = _tensor_core(host, device_events, kind)
    unfused = softmax_of_attention(host, device_events, kind)
    kind[unfused] = ATTENTION
    return DeviceEventKinds(kind, tensor_core, unfused)


def _tensor_core(host: HostRows, device_events: DeviceEvents, kind: Int) -> Code:
    """`DeviceEventKinds.tensor_core`; each distinct name and kind is compared once."""
    name = host.trace.events.name[device_events.event].astype(np.int64)
    distinct, place = unique_inverse(name * len(KINDS) + kind)
    texts = host.trace.strings
    cores = [
        on_tensor_cores(texts[pair // len(KINDS)], KINDS[pair % len(KINDS)])
        for pair in distinct.tolist()
    ]
    return np.array([-1 if core is None else int(core) for core in cores], np.int8)[place]


def _kind_of(name: str, event_kind: EventCategory) -> str:
    if event_kind is EventCategory.COPY:
        return "copy"
    if event_kind is EventCategory.SET:
        return "set"
    return kind_of_kernel(name) or "other"


def _use_operators(host: HostRows, device_events: DeviceEvents, kind: Int) -> None:
    """Fill in by operators: kernels of an unknown name, and the copies of a collective."""
    launch = device_events.launch
    unknown = np.flatnonzero((kind == OTHER) & (launch >= 0))
    kind[unknown] = _kind_around(host, launch[unknown], kind_of_operator)
    category = host.trace.events.kind[device_events.event]
    moves = isin(category, [int(EventCategory.COPY), int(EventCategory.SET)])
    moved = np.flatnonzero(moves & (launch >= 0))
    found = _kind_around(host, launch[moved], _communication)
    kind[moved[found == COMMUNICATION]] = COMMUNICATION


def _communication(name: str) -> str | None:
    return "communication" if kind_of_operator(name) == "communication" else None


def _kind_around(host: HostRows, launch: TreeRow, kind_of: Callable[[str], str | None]) -> Int:
    """Kind of the innermost operator around each launch that has one, OTHER for none."""
    row, place = unique_inverse(launch)
    kind = np.full(len(row), OTHER, np.int64)
    texts = host.trace.strings
    open_rows = np.arange(len(row))
    while len(open_rows):
        calling = host.kind[row] == EventCategory.RUNTIME
        strings, name = unique_inverse(np.where(calling, -1, host.string[row]))
        kinds = [kind_of(texts[string]) if string >= 0 else None for string in strings.tolist()]
        kind[open_rows] = np.array([KINDS.index(each or "other") for each in kinds])[name]
        row = host.call_tree.parent[row]
        going = (kind[open_rows] == OTHER) & (row >= 0)
        open_rows, row = open_rows[going], row[going]
    return kind[place]
