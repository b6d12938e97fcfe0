"""The chrome-trace format: categories, arguments, records."""
