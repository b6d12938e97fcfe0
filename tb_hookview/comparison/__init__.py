"""Two reports, or two runs, to what changed between them.

Must not be here: traces, analyses.
"""
