"""Peaks of devices, by the names that traces list: `peaks.json`, where new ones are to be added.

A name is that of the whole device, or its beginning up to a space or a dash: "Tesla V100-SXM2" is
"Tesla V100-SXM2-16GB" too. The longest that fits counts, if no word follows it that names another
model ("NVIDIA A10" is no "NVIDIA A10G").
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.flops.formulas import DTYPES
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Code, DeviceNumber, Float, Int
from tb_hookview.decoders import decoder
from tb_hookview.trace.columns.trace import DeviceProperties

_FILE = Path(__file__).parent / "peaks.json"


class Peaks(Struct, frozen=True):
    """What a device can do at most."""

    device: str
    names: tuple[str, ...]
    tflops: Mapping[str, float]
    """By type of operands; `TYPE_tensor` for those that ordinary cores take as well."""
    gb_per_s: float
    source: str
    confirmed: str = ""
    """Which figures another public source has too, and which source; "" for none."""


class _File(Struct, frozen=True):
    about: str
    devices: tuple[Peaks, ...]


@cache
def known_peaks() -> tuple[Peaks, ...]:
    """All devices of the file."""
    return decoder(_File).decode(_FILE.read_bytes()).devices


def peaks_of(name: str) -> Peaks | None:
    """Peaks of a device by its name; None for unknown."""
    fits = [
        (len(known), peaks)
        for peaks in known_peaks()
        for known in peaks.names
        if name == known or (known in name and _is_size(name.partition(known)[2]))
    ]
    return max(fits, key=lambda fit: fit[0])[1] if fits else None


def _is_size(rest: str) -> bool:
    """Whether what follows a known name says no more than how much memory there is."""
    return not rest or (rest[0] in "- " and rest[1:].removesuffix("GB").isdecimal())


def flops_per_ns(
    devices: tuple[DeviceProperties, ...], device: DeviceNumber, dtype: Int, tensor_core: Code
) -> Float:
    """Peak for each device event, shape (d,); NaN where device, type or cores are unknown.

    Args:
        devices: as the trace lists them.
        device: number of each event's device.
        dtype: index into DTYPES, -1 for unknown.
        tensor_core: 1 on tensor cores, 0 not on them, -1 for unknown.
    """
    found = np.full(len(device), np.nan)
    for number in unique(device).tolist():
        peaks = peaks_of(name_of(devices, number))
        for code, name in enumerate(DTYPES) if peaks else ():
            mine = (device == number) & (dtype == code)
            for cores in (-1, 0, 1):
                found[mine & (tensor_core == cores)] = _tflops(peaks, name, cores) * 1000
    return found


def name_of(devices: tuple[DeviceProperties, ...], number: int) -> str:
    """Name of a device.

    Traces of AMD's may list it by another number: then all that are listed must be of one name.
    """
    names = {each.id: each.name for each in devices}
    if number in names:
        return names[number]
    return next(iter(names.values())) if len(set(names.values())) == 1 else ""


def _tflops(peaks: Peaks | None, dtype: str, cores: int) -> float:
    """Peak for a type on ordinary cores (0), on tensor cores (1) or on either (-1)."""
    if peaks is None:
        return np.nan
    plain = peaks.tflops.get(dtype, np.nan)
    if dtype not in ("float64", "float32"):
        return plain  # of tensor cores, where these take the type
    on_cores = peaks.tflops.get(f"{dtype}_tensor", np.nan)
    if cores < 0:
        return plain if plain == on_cores else np.nan
    return on_cores if cores else plain
