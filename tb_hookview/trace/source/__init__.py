"""Where the text of a trace comes from: discovery, inflating, limits."""
