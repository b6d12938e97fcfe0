"""Parts of `benchmarks/startup.py`."""
