"""Compares what two checkouts of the project answer about the same traces."""
