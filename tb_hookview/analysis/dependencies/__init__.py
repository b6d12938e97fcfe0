"""What each launch, device event and sync had to wait for: nodes and edges as columns."""
