"""How much longer a step was for being recorded."""

from __future__ import annotations

from statistics import median

from tb_hookview import schema
from tb_hookview.trace.format.manifest import Manifest

_ENOUGH = 2
"""Steps not recorded that are compared with; a single one may be the one that compiles."""


def recording(manifest: Manifest | None) -> schema.Recording | None:
    """Compare the recorder's self times of steps; None where it has none."""
    if manifest is None or not (manifest.recorded_us or manifest.unrecorded_us):
        return None
    recorded = median(manifest.recorded_us) if manifest.recorded_us else None
    unrecorded = median(manifest.unrecorded_us) if manifest.unrecorded_us else None
    enough = len(manifest.unrecorded_us) >= _ENOUGH
    return schema.Recording(
        unrecorded_step_us=unrecorded,
        recorded_step_us=recorded,
        slowdown=recorded / unrecorded if recorded and unrecorded and enough else None,
        unrecorded_steps=len(manifest.unrecorded_us),
        recorded_steps=len(manifest.recorded_us),
    )
