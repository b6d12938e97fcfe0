"""One module in detail."""
