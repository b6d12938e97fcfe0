"""Autograd nodes, and the forward operators that made them."""
