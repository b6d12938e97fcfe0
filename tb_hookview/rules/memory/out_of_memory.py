"""Allocations that failed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.memory.blocks import device_name
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import innermost_at
from tb_hookview.formats import format_bytes, format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_FRAGMENTED = (
    "As much was held by the allocator and not in use: set "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and keep shapes the same from step to step."
)


def _find(context: Context) -> Iterator[Occurrence]:
    failed = context.analysis.trace.out_of_memory
    rows = innermost_at(context.call_tree, failed.thread.astype(np.int64), failed.time)
    owner = context.analysis.attribution.row_module
    module = np.array([int(owner[row]) if row >= 0 else -1 for row in rows.tolist()], np.int64)
    for each in unique(module).tolist():
        mine = np.flatnonzero(module == each)
        worst = int(mine[np.argmax(failed.amount[mine])])
        wanted, used = int(failed.amount[worst]), int(failed.allocated[worst])
        spare = int(failed.reserved[worst]) - used if failed.reserved[worst] >= 0 else 0
        name = device_name(int(failed.device_type[worst]), int(failed.device_index[worst]))
        in_use = f" with {format_bytes(used)} in use" if used >= 0 else ""
        held = f" and {format_bytes(spare)} reserved, unused" if spare > 0 else ""
        yield Occurrence(
            place=f"device {name}",
            module=each,
            everywhere=each < 0,
            count=len(mine),
            evidence=f"{format_count(len(mine), 'allocation')} failed, the largest of "
            f"{format_bytes(max(wanted, 0))}{in_use}{held}",
            claims_gain=False,
            examples=failed.time[mine],
            latent="the program stops, or retries after it freed what it held",
            fix=_FRAGMENTED if 0 < wanted <= spare and used >= 0 else "",
        )


RULE = Rule(
    id="out-of-memory",
    family="memory",
    title="Allocations fail for lack of memory",
    description="`[OutOfMemory]` events, in a trace recorded with profile_memory.",
    fix="Lower the peak: a smaller batch with accumulated gradients, checkpointing, lower "
    "precision, sharding (FSDP).",
    reference="PyTorch, CUDA memory management",
    find=_find,
)
