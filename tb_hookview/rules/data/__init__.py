"""Rules about data loading and data movement."""
