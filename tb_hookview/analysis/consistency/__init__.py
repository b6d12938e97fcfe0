"""Faults of a trace: where it contradicts itself, or lacks what the analysis builds on."""
