"""Parts of the analyzer's benchmark, `benchmarks/analyze.py`."""
