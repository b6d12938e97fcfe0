"""Answers as Markdown that stands by itself: for `analyze --format markdown` and for programs."""
