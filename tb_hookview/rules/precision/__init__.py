"""Rules about precision and tensor cores."""
