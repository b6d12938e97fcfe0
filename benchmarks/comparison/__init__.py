"""Parts of `benchmarks/agreement.py`: one file per peer."""
