"""The training waits for a batch that the loader's workers have not finished."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.copies import in_loader


def _find(context: Context) -> Iterator[Occurrence]:
    return in_loader(context, single=False)


RULE = Rule(
    id="loader-wait",
    family="data-loading",
    title="The main process waits for DataLoader workers",
    description="Over 5% of a step in a DataLoader with workers, while a device idles or where "
    "the model runs on the CPU.",
    fix="Raise num_workers (begin near the number of cores for each device), prefetch_factor, and "
    "set persistent_workers=True. Decode and augment on the device, or transform whole batches. "
    "Return less from the workers. Train on one cached batch to measure what could be gained.",
    reference="torch.utils.data documentation; torch_tb_profiler, DataLoader recommendation",
    find=_find,
    advice=("storage-io-bound", "cpu-preprocess-format", "host-cpu-tuning"),
)
