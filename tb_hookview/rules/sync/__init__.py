"""Rules about syncs."""
