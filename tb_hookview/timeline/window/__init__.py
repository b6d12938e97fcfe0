"""What to draw of a window."""
