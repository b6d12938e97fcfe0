"""The report: rows built from an analysis."""
