"""Real traces taken apart into the texts of their events, to be damaged and put together again."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import shared_traces
from msgspec import structs

from tb_hookview.loading import analyze
from tb_hookview.trace import LocalFile, Trace, read_trace

NAMES = (
    "hta_a100_alexnet_sync_events",
    "hta_a100_overlaid_critical_path",
    "hta_mi250_minitoy_training",
    "hta_rank_without_gpu",
    "tracelens_mi300_compile_triton",
    "tracelens_h100_bert_small",
)
"""Different writers, indents and keys; every kind of damage is done to each."""


@dataclass(frozen=True)
class Real:
    """A trace in parts: `opening`, events with the text between them, `rest`."""

    opening: bytes
    events: tuple[bytes, ...]
    gaps: tuple[bytes, ...]
    """Comma and blanks after each event but the last."""
    rest: bytes

    def text(self) -> bytes:
        """The whole file."""
        gaps = (*self.gaps, b"")
        both = [part for pair in zip(self.events, gaps, strict=True) for part in pair]
        return b"".join((self.opening, *both, self.rest))

    def without(self, places: set[int]) -> Real:
        """The same trace without some of its events."""
        kept = [number for number in range(len(self.events)) if number not in places]
        events = tuple(self.events[number] for number in kept)
        return replace(self, events=events, gaps=(b",",) * (len(events) - 1))

    def first(self, number: int) -> Real:
        """The same trace with its first events alone."""
        return self.without(set(range(number, len(self.events))))

    def thinned(self, most: int) -> Real:
        """Every n-th event with the text after it, so that there are at most so many."""
        step = -(-len(self.events) // most)
        events = self.events[::step]
        return replace(self, events=events, gaps=self.gaps[::step][: len(events) - 1])

    def changed(self, events: dict[int, bytes]) -> Real:
        """Return the same trace with other texts for some events."""
        new = tuple(events.get(number, text) for number, text in enumerate(self.events))
        return replace(self, events=new)

    def ends(self) -> list[int]:
        """Return the offset after each event."""
        found, at = [], len(self.opening)
        for event, gap in zip(self.events, (*self.gaps, b""), strict=True):
            found.append(at + len(event))
            at += len(event) + len(gap)
        return found


def raw(path: Path) -> bytes:
    """The text of a trace file."""
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


@cache
def real(name: str) -> Real:
    """A shared trace by the beginning of its name; skips the test where it is absent."""
    return taken_apart(raw(shared_traces.shared_trace(name)))


def taken_apart(text: bytes) -> Real:
    """The parts of a trace, by the standard library's parser."""
    characters = text.decode("latin-1")  # offsets stay those of the bytes
    at = characters.index("[", characters.index('"traceEvents"')) + 1
    while characters[at].isspace():
        at += 1
    opening, events, gaps = text[:at], [], []
    while True:
        end = json.JSONDecoder().raw_decode(characters, at)[1]
        events.append(text[at:end])
        begin = end
        while characters[begin].isspace() or characters[begin] == ",":
            begin += 1
        if characters[begin] == "]":
            return Real(opening, tuple(events), tuple(gaps), text[end:])
        gaps.append(text[end:begin])
        at = begin


def columns(path: Path) -> tuple[Trace, dict[str, int]]:
    """What is read of a file, without what it lost; how often it lost what."""
    trace = read_trace(path)
    bare = structs.replace(trace, notices=(), file=LocalFile(Path()))
    return bare, {notice.code: notice.times for notice in trace.notices}


def report(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The report of a file without its warnings, what follows from them (`device_advice`), and its
    path; how often it warns of what."""
    data = msgspec.to_builtins(analyze(path).data)
    del data["trace"]["path"], data["device_advice"]
    warnings = data["trace"].pop("warnings")
    return data, {warning["code"]: warning["count"] for warning in warnings}
