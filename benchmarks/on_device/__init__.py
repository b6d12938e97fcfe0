"""What only a GPU can say, measured by one command that leaves what it has at any moment."""
