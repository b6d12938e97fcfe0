"""Data loading in the main process, between the steps."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.copies import in_loader


def _find(context: Context) -> Iterator[Occurrence]:
    return in_loader(context, single=True)


RULE = Rule(
    id="loader-single-process",
    family="data-loading",
    title="Data loading runs in the main process",
    description="Over 5% of a step in a DataLoader without workers "
    "(_SingleProcessDataLoaderIter), while a device idles or where the model runs on the CPU.",
    fix="Set num_workers above 0, so that batches are made while the model runs, and "
    "pin_memory=True. Keep CUDA out of the workers. Decode or tokenize once, ahead of the run.",
    reference="PyTorch Performance Tuning Guide: asynchronous data loading",
    find=_find,
    advice=(
        *("cpu-preprocess-format", "storage-io-bound", "host-copy-torch-tensor"),
        "host-cpu-tuning",
    ),
)
