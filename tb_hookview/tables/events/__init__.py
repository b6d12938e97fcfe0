"""The tables at event level, computed from an analysis as arrays: NAME.py, its function NAME."""
