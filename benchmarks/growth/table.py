"""The sizes as Markdown: what they take, how that grows, what was to hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from common.markdown import failure, table
from common.page import Aim

from growth.measure import Size

RATE_AIM = 1.3
"""How many times as long as in the trace itself an event may take in a gigabyte of JSON."""

MEMORY_AIM = 2.5e9
"""Resident bytes that a gigabyte of JSON may take."""

_GIGABYTE, _FAR_MORE = 1e9, 2e9
"""Bytes of JSON from which on the aims of a gigabyte are meant, and from which on no more."""

_LARGE = 200_000
"""Events from which on what a process does once no longer shows."""


class Fit(NamedTuple):
    """A power law by least squares on logarithms."""

    exponent: float
    error: float
    """Standard error of the exponent; NaN where two points leave nothing to tell it by."""


def fit(events: Sequence[float], spent: Sequence[float]) -> Fit:
    """Fit `spent` to a constant times a power of `events`; two sizes at least."""
    x, y = np.log(events), np.log(spent)
    centred = x - x.mean()
    squares = float(centred @ centred)
    exponent = float(centred @ y) / squares
    rest = y - y.mean() - exponent * centred
    freedom = len(x) - 2
    error = float(np.sqrt(rest @ rest / freedom / squares)) if freedom else float("nan")
    return Fit(exponent, error)


def size_table(sizes: Sequence[Size]) -> str:
    """One row for each size."""
    stages = _stages(sizes)
    head = [
        *("events", "JSON, MB", "in all, s", "us for an event", "CPU us for an event"),
        *(f"{name}, s" for name in stages),
        *("memory added, MB", "peak of the process, MB", "memory added / JSON"),
    ]
    return table(head, (_row(size, stages) for size in sizes), left=0)


def _row(size: Size, stages: Sequence[str]) -> list[str]:
    if not size.runs:
        failed = [failure(size.fails or "not run"), *[""] * (len(stages) + 5)]
        return ["", f"{size.json_bytes / 1e6:,.1f}", *failed]
    return [
        f"{size.events:,}",
        f"{size.json_bytes / 1e6:,.1f}",
        f"{size.seconds:.3g}",
        f"{size.seconds / size.events * 1e6:.2f}",
        f"{size.cpu / size.events * 1e6:.2f}",
        *(f"{size.stage(name):.3g}" for name in stages),
        f"{size.added / 1e6:,.0f}",
        f"{size.peak / 1e6:,.0f}",
        f"{size.added / size.json_bytes:.2f}",
    ]


def _stages(sizes: Sequence[Size]) -> list[str]:
    """Stages that take a hundredth of the time at any size."""
    runs = [run for size in sizes for run in size.runs]
    names = dict.fromkeys(name for run in runs for name in run["facts"]["stages"])
    return [
        name
        for name in names
        if any(run["facts"]["stages"].get(name, 0.0) > run["seconds"] / 100 for run in runs)
    ]


def exponents(sizes: Sequence[Size]) -> str:
    """How time and memory grow, over all sizes and over the large ones."""
    measures: dict[str, Callable[[Size], float]] = {
        "time in all": lambda size: size.seconds,
        "CPU time in all": lambda size: size.cpu,
        **{name: lambda size, name=name: size.stage(name) for name in _stages(sizes)},
        "memory added": lambda size: size.added,
    }
    done = [size for size in sizes if size.runs]
    large = [size for size in done if size.events >= _LARGE]
    body = [[name, _fitted(done, of), _fitted(large, of)] for name, of in measures.items()]
    head = ["grows with the events to the power of", "all sizes", f"from {_LARGE:,} events"]
    return table(head, body)


def _fitted(sizes: Sequence[Size], of: Callable[[Size], float]) -> str:
    known = [size for size in sizes if of(size) > 0]
    if len(known) < 2:
        return "too few sizes"
    exponent, error = fit([size.events for size in known], [of(size) for size in known])
    return f"{exponent:.2f}" if np.isnan(error) else f"{exponent:.2f} ± {error:.2f}"


def aims(sizes: Sequence[Size]) -> list[Aim]:
    """What is to hold for a gigabyte of JSON."""
    rate = f"an event of 1 GB of JSON takes at most {RATE_AIM} times as long as one of the trace"
    memory = f"1 GB of JSON below {MEMORY_AIM / 1e9} GB resident"
    whole = next((size for size in sizes if size.copies == 1 and size.runs), None)
    large = next((size for size in sizes if size.json_bytes >= _GIGABYTE), None)
    if large is None or whole is None:
        reason = "no trace of that size was measured"
        return [Aim(wanted, reason, None) for wanted in (rate, memory)]
    if large.fails or not large.runs:
        return [Aim(wanted, large.fails or "not run", False) for wanted in (rate, memory)]
    size = f"{large.json_bytes / 1e9:.1f} GB"
    if large.json_bytes >= _FAR_MORE:
        found = (
            f"{large.events:,} events, {large.seconds:.0f} s, {large.peak / 1e9:.1f} GB resident"
        )
        return [Aim(f"{size} of JSON is read on this machine", found, True)]
    ratio = (large.seconds / large.events) / (whole.seconds / whole.events)
    what = f"{size}, {large.events:,} events"
    return [
        Aim(rate, f"{ratio:.2f} times ({what}, {large.seconds:.3g} s)", ratio <= RATE_AIM),
        Aim(memory, f"{large.peak / 1e9:.2f} GB ({what})", large.peak < MEMORY_AIM),
    ]
