"""Storage that is too slow for the loader. No trace shows it, only that the training waits."""

from __future__ import annotations

from tb_hookview.rules.engine.rule import Rule

RULE = Rule(
    id="storage-io-bound",
    family="data-loading",
    title="The storage may be what the loader waits for",
    matches="Nothing in a trace: workers are processes of their own. iotop, py-spy on a worker or "
    "strace show time in reads.",
    fix="Stage the data on a local NVMe disk, or put a cache between storage and trainers. Pack "
    "small files into shards (tar, record, Parquet) that are read in order, several at a time.",
    reference="Amazon SageMaker Debugger, rule IOBottleneck",
    confidence="medium",
)
