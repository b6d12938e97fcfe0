"""Columns to what they mean: calls, nodes, modules, syncs, idle time, phases, steps."""
