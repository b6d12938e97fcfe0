"""Algebra of arrays: sets of time, joins, nesting. Knows nothing of traces."""
