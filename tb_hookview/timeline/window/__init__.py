"""Blocks to draw in a window."""
