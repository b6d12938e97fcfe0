"""Calls of the runtime: how the time of each divides."""
