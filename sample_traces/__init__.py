"""Small real traces, and the program that records them."""
