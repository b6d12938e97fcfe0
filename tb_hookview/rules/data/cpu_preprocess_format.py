"""Decoding and transforms that keep the loader's processors busy. No trace shows it."""

from __future__ import annotations

from tb_hookview.rules.engine.rule import Rule

RULE = Rule(
    id="cpu-preprocess-format",
    family="data-loading",
    title="Decoding and transforms may be what the loader spends its time on",
    matches="Nothing in a trace: it shows no worker. More workers then help, until all cores work.",
    fix="Keep tables as Arrow batches in memory, or as Parquet where reading is the limit. Decode "
    "images with a build of Pillow that uses SIMD, or on the device. Transform arrays, not items.",
    reference="Pillow-SIMD; Apache Arrow documentation",
    confidence="medium",
)
