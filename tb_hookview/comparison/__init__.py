"""Changes between two reports."""
