"""The comparison of two reports as types. All numbers are per step, times in microseconds.

A row has the ids of what it compares in both reports, `base_id` and `other_id`, None on a side
without it; of syncs, that of the first of the call site. Its own `id` is these two, "3|4".
"""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["appeared", "vanished", "moved", "changed", "same", "unlisted"]
""" "moved": on both sides, at another place. "unlisted": one side's table was cut before it."""


class Pair(msgspec.Struct, frozen=True):
    """One number on both sides; None where a side does not hold it."""

    base: float | None
    other: float | None
    change: float | None
    """`other` less `base`; what is on one side alone costs nothing on the other."""


class ModuleChange(msgspec.Struct, frozen=True, rename={"module_class": "class"}):
    """One module, its own work without that of the modules below it."""

    id: str
    base_id: int | None
    other_id: int | None
    path: str
    """On the other side where it is there, else on the base's."""
    module_class: str
    status: Status
    forward_us: Pair
    backward_us: Pair
    syncs: Pair
    sync_blocked_us: Pair
    """In the module and those below it, as `syncs`."""
    base_path: str | None = None
    other_path: str | None = None

    @property
    def effect_us(self) -> float:
        """How much the module's own forward and backward changed together, in microseconds."""
        return abs((self.forward_us.change or 0.0) + (self.backward_us.change or 0.0))


class Site(msgspec.Struct, frozen=True):
    """Where syncs were made."""

    module: str | None
    module_id: int | None
    node: str | None
    operator: str | None
    frame: str | None
    """The innermost frame that is not torch's own, `file.py(line): function`."""


class SyncChange(msgspec.Struct, frozen=True):
    """The syncs of one cause and call site."""

    id: str
    base_id: int | None
    other_id: int | None
    cause: str
    status: Status
    base_site: Site | None
    other_site: Site | None
    count: Pair
    blocked_us: Pair
    device_idle_us: Pair


class KernelChange(msgspec.Struct, frozen=True):
    """Device work of one name."""

    id: str
    base_id: int | None
    other_id: int | None
    name: str
    kind: str
    event: str
    status: Status
    count: Pair
    total_us: Pair


class FindingChange(msgspec.Struct, frozen=True):
    """One finding: gone, new, or of another cost."""

    id: str
    base_id: str | None
    other_id: str | None
    rule: str
    title: str
    fix: str
    status: Status
    base_where: str | None
    other_where: str | None
    base_module: str | None
    base_module_id: int | None
    other_module: str | None
    other_module_id: int | None
    cost_us: Pair
    gain_us: Pair


class Side(msgspec.Struct, frozen=True):
    """Which trace a side of the comparison is."""

    path: str
    steps: int
    step_names: list[str] = []


class Comparison(msgspec.Struct, frozen=True):
    """The difference of two reports."""

    schema: int
    measure: str
    """ "device" where both traces hold the device time of their backward pass, else "host"."""
    base: Side
    other: Side
    step_us: Pair
    forward_us: Pair
    backward_us: Pair
    backward_unattributed_us: Pair
    syncs: Pair
    sync_blocked_us: Pair
    modules: list[ModuleChange]
    """Those that changed most first, as in each of the tables below."""
    speedup: float | None = None
    """`step_us.base` over `step_us.other`: 2 is twice as fast. None where a side has no steps."""
    phases_us: dict[str, Pair] = {}
    """The host's phases, which sum to `step_us`."""
    device_busy_us: Pair = Pair(None, None, None)
    device_idle_us: Pair = Pair(None, None, None)
    idle_us: dict[str, Pair] = {}
    """`device_idle_us` by its cause; empty where neither side tells."""
    device_us_by_kind: dict[str, Pair] = {}
    """All device work by its kind."""
    sync_sites: list[SyncChange] = []
    """The parts of `syncs` and `sync_blocked_us`."""
    kernels: list[KernelChange] = []
    kernels_omitted_us: Pair = Pair(None, None, None)
    """Device work of the names that a side's table of kernels leaves out."""
    findings: list[FindingChange] = []


class Compared(msgspec.Struct, frozen=True):
    """What changed between two traces, with the names of all steps of each."""

    comparison: Comparison
    base_steps: list[str]
    other_steps: list[str]
