"""Modules: their tree, calls, sources and marks, and what is attributed to them."""
