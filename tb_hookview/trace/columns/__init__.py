"""Columns: the result of parsing, and how it is built."""
