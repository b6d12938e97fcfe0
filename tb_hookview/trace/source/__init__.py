"""Source of a trace's text: discovery, inflating, limits."""
