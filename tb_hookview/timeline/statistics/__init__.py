"""Statistics of a window, and search."""
