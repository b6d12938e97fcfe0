"""Replays of a trace's dependency graph, as recorded and with something changed."""
