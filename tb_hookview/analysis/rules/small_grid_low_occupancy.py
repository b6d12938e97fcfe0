"""Kernels with fewer blocks than the device has multiprocessors: the analysis reads no grids."""

from __future__ import annotations

from tb_hookview.analysis.rules.rule import Rule

RULE = Rule(
    id="small-grid-low-occupancy",
    family="kernels",
    title="Kernels may fill only a part of the device",
    matches="Not told from a trace: grids and occupancy are not read.",
    fix="Look at the blocks and the occupancy of the dearest kernels in a trace viewer. With fewer "
    "blocks than multiprocessors take a larger batch, pack sequences, merge parallel branches, or "
    "run small independent operators on several streams.",
    reference="torch_tb_profiler, GPU metrics; NVIDIA, Matrix Multiplication Background",
    confidence="medium",
)
