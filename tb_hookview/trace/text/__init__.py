"""The text cut into pieces, damage repaired."""
