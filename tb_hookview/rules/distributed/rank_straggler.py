"""One rank keeps the others waiting: only the traces of all ranks together tell."""

from __future__ import annotations

from tb_hookview.rules.engine.rule import Rule

RULE = Rule(
    id="rank-straggler",
    family="distributed",
    title="One rank may keep the others waiting",
    matches="Not told from one trace: it takes the starts of the same collective on all ranks.",
    fix="Compare the ranks' traces: the one whose collectives are short is the one that is waited "
    "for. Balance tokens or sequence lengths of batches, drop logging and evaluation that only "
    "rank 0 does, pin processes to CPUs, and look at clocks and temperature.",
    reference="Holistic Trace Analysis, straggler detection",
)
