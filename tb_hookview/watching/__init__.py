"""Watches a whole training: times of every step, and recordings of the steps that are worth it."""
