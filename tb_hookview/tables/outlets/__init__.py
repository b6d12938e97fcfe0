"""A table's columns as frames and files of other tools."""
