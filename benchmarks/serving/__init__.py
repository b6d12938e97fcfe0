"""Parts of `benchmarks/latency.py`."""
