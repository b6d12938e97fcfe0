"""Many ranks of one run: a map of their traces to summaries (`map`), and a reduce (`answer`).

Must not be here: what one trace means (`analysis`), a scheduler or retries of our own.
"""
