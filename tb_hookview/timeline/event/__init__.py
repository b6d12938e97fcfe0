"""One event of the timeline."""
