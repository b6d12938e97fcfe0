"""An open trace, and its report: rows built from an analysis, in microseconds.

Must not be here: reading of files; numbers as text outside of `summary` and the documents.
"""
