"""The lanes of the timeline."""
