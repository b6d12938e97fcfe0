"""Rules: what costs time in a training step, and what to do about it."""
