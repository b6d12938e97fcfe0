"""Rules about compiled code."""
