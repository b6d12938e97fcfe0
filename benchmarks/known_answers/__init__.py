"""Predictions of what-ifs against what happened."""
