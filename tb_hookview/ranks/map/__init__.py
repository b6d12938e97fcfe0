"""The map: a trace to its summary and times, stored and packed."""
