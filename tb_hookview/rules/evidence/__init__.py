"""Evidence that several rules look for."""
