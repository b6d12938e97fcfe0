"""Cuts steps into parts that add up to them, and that waiting for other ranks is kept out of."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from tb_hookview.history.rows import Floats, RankRows

GC = "garbage collection"
WAITING = "after_backward"
"""The part in which a rank waits for the others."""
_PHASES = ("data", "forward", "backward", WAITING, "optimizer")


class Part(NamedTuple):
    """A part of a step."""

    name: str
    block: str | None = None


class Parts(NamedTuple):
    """Parts of the steps of one rank, microseconds; NaN for unknown."""

    names: list[Part]
    values: Floats
    """Steps by parts."""


def parts_of(rows: RankRows, *, by_block: bool) -> Parts:
    """Return the parts of each step.

    Garbage collections happen inside other parts: theirs is in addition to what adds up. In short
    steps not all have their phases timed; what is left over is unknown there.
    """
    names: list[Part] = []
    columns: list[Floats] = []
    for phase, blocks in (("data", None), ("forward", rows.forward), ("backward", rows.backward)):
        rest = rows.of(f"{phase}_us")
        if by_block and blocks is not None and rows.blocks:
            names += [Part(phase, block) for block in rows.blocks]
            columns += list(blocks.T)
            rest = np.maximum(rest - np.nan_to_num(blocks).sum(1), 0.0)
            rest[~rows.has_blocks] = np.nan  # all of it may have been in blocks
        names.append(Part(phase))
        columns.append(rest)
    for phase in (WAITING, "optimizer"):
        names.append(Part(phase))
        columns.append(rows.of(f"{phase}_us"))
    known = [np.nan_to_num(rows.of(f"{phase}_us")) for phase in _PHASES]
    names.append(Part("other"))
    other = np.maximum(rows.of("duration_us") - np.sum(known, axis=0), 0.0)
    other[~rows.has_phases] = np.nan
    columns.append(other)
    names.append(Part(GC))
    columns.append(rows.of("gc_us"))
    return Parts(names, np.column_stack(columns))


def median(values: Floats, axis: int | None = None) -> Floats:
    """Return the median of what is known; NaN where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmedian(values, axis=axis))


def mean(values: Floats, axis: int | None = None) -> Floats:
    """Return the mean of what is known; NaN where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=axis))


def typical(values: Floats) -> Floats:
    """Return each column's median; garbage collections, the last, count by their mean."""
    found = median(values, 0)
    found[-1] = mean(values[:, -1])
    return found
