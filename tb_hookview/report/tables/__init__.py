"""The tables of the report, one file each."""
