"""What a watched training wrote, over all its steps."""
