"""Answers about a watched training."""
