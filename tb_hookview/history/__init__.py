"""What a watched training run wrote, over all its steps."""
