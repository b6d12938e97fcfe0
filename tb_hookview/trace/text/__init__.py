"""Cuts the text into pieces and repairs damage."""
